package reaction_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"campaign-dispatch/internal/campaign/reaction"
)

// surely are replies that opt out.
var surely = []string{
	// Of the specification.
	"parar", "Parar por favor", "PARE", "SAIR", "Quero parar de receber", "descadastrar", "não quero mais receber", "me tira da lista",
	// The same without accents, with thanks, punctuation or emoji.
	"nao quero mais receber", "Nao quero mais receber.", "SAIR!!!", " Parar. ", "*PARE*", "\"sair\"", "#SAIR", "Pare 🙏", "🛑 PARAR 🛑", "Sair 😡😡",
	"parar, obrigado", "Obrigada, me tira da lista", "Bom dia, descadastrar por favor", "oi! parar pf", "descadastrar. grata!", "Sair ❤️",
	// Without messages.
	"parem", "Pare agora", "PARAAAAR", "paraar", "Stop", "STOP!", "pare e me tire da lista", "parar parar parar", "SAIR SAIR",
	"para de me mandar mensagem", "Para de mandar msg pra mim", "parem de me enviar mensagens", "PAREM DE MANDAR PROPAGANDA!!!",
	"pare de enviar sms", "Parar de receber ofertas", "parar mensagens", "parem com isso", "Para com isso por favor", "parem de mandar mensagens no meu celular",
	"pelo amor de Deus parem de me mandar mensagens", "para de encher o saco", "parem de incomodar", "Gostaria de parar de receber mensagens de vocês",
	"quero sair", "Quero sair da lista", "kero sair dessa lista", "sair da lista de transmissão", "quero sair do grupo", "queria sair da lista, obrigado",
	"quero sai da lista", "Gostaria de sair do cadastro de vocês",
	"Descadastro", "quero me descadastrar", "me descadastra", "Descadastre meu número", "descadrastar", "descadastar por favor", "discadastrar",
	"Quero fazer o descadastro", "descadastrem meu telefone da lista", "desinscrever", "Unsubscribe",
	"n quero mais receber", "não quero + receber", "naum kero mais receber msg", "ñ quero mais receber", "Eu não quero mais receber mensagens de vocês",
	"não quero receber mais nada", "nao quero mas receber isso", "Não quero receber propaganda", "não quero mais mensagens", "nao quero mais promoção",
	"Não desejo receber mensagens", "não gostaria mais de receber essas mensagens", "não aceito receber mensagem", "num quero receber mais",
	"não quero receber mensagens nesse número", "não tenho interesse em receber promoções", "na\u0303o quero mais receber",
	"não me mande mais mensagens", "Nao mande mais", "não envie mais nada", "favor não enviar mais mensagens", "Por gentileza, não me enviem mais sms",
	"nunca mais me mande mensagem", "não entre mais em contato", "não me perturbe", "Não me incomodem mais", "não quero ser incomodado",
	"chega de mensagem", "Chega de propaganda!", "basta de mensagens",
	"me tire da lista", "Tira meu número da lista", "tirem meu nome dessa lista", "Favor retirar meu contato da base",
	"Remover", "me remova", "me remove da lista por favor", "excluir meu numero da lista",
	"Quero ser removido da lista", "cancelar mensagens", "cancelar o envio de mensagens", "quero cancelar o recebimento de promoções",
	"parem de ficar mandando mensagem", "não quero receber nenhuma mensagem", "Não quero mais receber nenhum tipo de mensagem de vocês",
	"quero que parem de mandar mensagens", "preciso que parem", "solicito descadastro", "Solicito o cancelamento do envio de mensagens",
	"peço que retirem meu número da lista", "pode parar de me mandar mensagem?", "Vocês podem me tirar da lista?", "tem como me tirar da lista",
	"deixem de enviar mensagens", "desativar notificações", "não precisa mais mandar mensagem", "Não autorizo o envio de mensagens", "ok, sair",
	"num me mande mais mensagem", "num manda mais msg", "nun me mandem mais", "não quero mais anúncios", "basta de mensagem",
	"chega dessas mensagens", "Chega de spam",
	"Boa tarde. Não quero mais receber mensagens. Me tira da lista. Obrigado",
	// Other letters and signs.
	"ＰＡＲＡＲ", "𝗦𝗔𝗜𝗥", "n\u0101o quero mais receber", "*NÃO* quero receber", "não quero + mensagens", "não quero receber.\nObrigado",
	// Stressed.
	"Não quero mais receber mensagens por aqui", "quero sair mesmo", "parem agora mesmo de mandar zap",
	"quero ser retirado da lista",
}

// perhaps are replies that a person has to read.
var perhaps = []string{
	"cancelar", "Cancelar.", "CANCELA", "cancele por favor", "Quero cancelar", "cancelar tudo", "cancelar cadastro", "cancelar minha inscrição",
	"vou sair mais cedo", "não vou parar", "não quero parar de receber", "Não me tire da lista", "Como faço para sair da lista?",
	"se não pararem vou processar vocês", "já pedi para me tirar da lista 3 vezes", "é a última vez que peço: parem de mandar mensagem ou vou ao Procon",
	"quero parar de fumar", "quero sair com a camiseta azul", "sair 18:00", "isso é spam", "spam", "revogo meu consentimento", "não quero participar", "não quero", "Não quero, obrigado", "não quero mais", "não tenho interesse",
	"sem interesse", "Não me interessa", "nao estou interessado", "chega", "Chega!", "para", "me deixa em paz", "vou bloquear", "não mandem",
	"Não autorizei mensagens", "preciso sair agora", "excluam meus dados", "não quero isso", "pode parar na frente da loja?", "quanto custa para sair de São Paulo",
	// "No" with a sign behind it, and no refusal of messages.
	"Não, quero receber", "Não! Quero mensagens", "Não. Quero receber mensagens.", "Não\nquero receber", "n - quero receber", "Não 😊 quero receber",
	// Another thing is refused, cancelled or fetched.
	"Quero retirar meu celular", "Pode retirar meu telefone?", "Não quero receber o celular", "Não entra no meu celular", "Quero tirar meu nome",
	"Não quero WhatsApp, obrigado", "não quero anúncio", "basta whatsapp", "Basta mensagem", "Basta SMS", "Quero retirar a lista",
	"Pode retirar a lista", "Quero sair em grupo", "Apaga o grupo", "remover o cadastro", "quero cancelar o cadastro",
	"Quero cancelar meu anúncio", "Não precisa enviar nada, obrigado", "Não quero msm", "Não me incomoda", "Não perturba",
	"Quero parar meu anúncio", "quero cancelar meu zap", "aceito sair", "Pare de mandar meu telefone", "Não quero receber isso",
	"Vc não me manda mensagem", "vocês não enviam, você não envia mensagens",
	"retirar meu numero", "remova meu número", "apaga meu contato",
	// Not now, and not here.
	"Não quero receber agora, obrigado", "Quero sair agora", "não quero receber aqui", "não mande mensagem agora", "não quero agora",
	"quero sair daqui", "Parar 18:00", "parar1", "1 parar",
	// Less clear ones.
	"quero ser excluído", "não receber mais nada", "chega de mandar mensagem", "Me tira daí", "me tira disso", "não quero mais contato",
	"cancelar meu número", "solicito exclusão dos meus dados", "sem mensagens", "sem mais mensagens", "não enche", "não me enche o saco",
	"p a r a r", "S.A.I.R", "chega de incomodar, pelo menos aos domingos",
}

// never are replies that ask for something else.
var never = []string{
	"", "🙏", "ok", "sim", "Sim, quero", "não", "Não, obrigado", "obrigada", "Bom dia", "quero", "quero receber", "Quero receber mais",
	"quero mais informações", "cancelar meu pedido", "quero cancelar a compra", "Cancela o boleto por favor", "cancelar consulta de amanhã",
	"me tira uma dúvida", "Quando chega?", "chega hoje?", "Para amanhã", "para que serve?", "tem para entrega?", "Que horas <abre>?",
	"não recebi", "não recebi a mensagem", "ainda não chegou", "não quero o azul, quero o vermelho", "quero me inscrever", "Quero me cadastrar",
	"quero recadastrar", "qual o número da loja?", "meu número mudou", "anota meu contato", "onde fica a parada de ônibus", "preparar o pedido",
	"vou separar o dinheiro", "comparei os preços", "quero comprar", "Paro aí às 10", "começar", "voltar", "saiu para entrega?", "sairia quanto o frete?",
	"a saída é por qual rua", "mensagem", "promoção", "quais são as ofertas?", "me manda a promoção", "manda mais", "mande o catálogo",
	"desativar meu cartão", "não precisa", "pode mandar", "entre em contato", "deixa comigo", "interessada sim", "tenho interesse", "aceito", "não, tudo bem", "Não. Quero o azul", "quanto custa um anúncio", "autorizo o envio", "pode enviar", "bloqueio do cartão",
}

func TestAsksToStop(t *testing.T) {
	t.Parallel()
	for want, texts := range map[reaction.Certainty][]string{reaction.Sure: surely, reaction.Perhaps: perhaps, reaction.No: never} {
		for _, text := range texts {
			if got := reaction.AsksToStop(text); got != want {
				t.Errorf("%q: %d, want %d", text, got, want)
			}
			if got := reaction.AsksToStop(" " + strings.ToUpper(text) + "!! 😀"); got != want {
				t.Errorf("%q in capitals: %d, want %d", text, got, want)
			}
		}
	}
	if controls := len(perhaps) + len(never); len(surely) < 40 || controls < 40 {
		t.Errorf("%d phrases and %d controls, want 40 or more of each", len(surely), controls)
	}
}

// A reply with a phrase among other words never opts out, however long it is.
func TestAsksToStop_Contained(t *testing.T) {
	t.Parallel()
	for _, text := range surely {
		for _, other := range []string{"amanhã vou " + text, text + " se chover", "não " + text, strings.Repeat(text+" ", 200) + "kkk"} {
			if got := reaction.AsksToStop(other); got == reaction.Sure {
				t.Errorf("%.60q opts out", other)
			}
		}
	}
	if got := reaction.AsksToStop(strings.Repeat("pare de mandar mensagens ", 200)); got != reaction.Sure {
		t.Errorf("a phrase that is repeated: %d", got)
	}
}

// A typed reply that may be an opt-out is none. A tap and an event are in no doubt.
func TestJudge(t *testing.T) {
	t.Parallel()
	for want, texts := range map[bool][]string{true: perhaps, false: slices.Concat(surely, never, []string{"Começar", "Parar ™"})} {
		for _, text := range texts {
			if _, changes, doubtful := reaction.OptChangeOf(reaction.EventReply, text, ""); doubtful != want || changes && doubtful {
				t.Errorf("%q: changes %v, doubtful %v", text, changes, doubtful)
			}
			if _, _, doubtful := reaction.OptChangeOf(reaction.EventReply, text, "data"); doubtful {
				t.Errorf("a tap on %q is doubtful", text)
			}
			if _, _, doubtful := reaction.OptChangeOf(reaction.EventOptOut, text, ""); doubtful {
				t.Errorf("an opt-out with the text %q is doubtful", text)
			}
		}
	}
}

// A suggestion opts out by "parar" alone, whatever else its text says.
func TestOptChangeOf_Taps(t *testing.T) {
	t.Parallel()
	for _, text := range slices.Concat(surely, perhaps) {
		out, changes, _ := reaction.OptChangeOf(reaction.EventReply, text, "data")
		word := strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if want := strings.EqualFold(word, "parar"); out != want || changes != want {
			t.Errorf("a tap on %q opts out: %v", text, out)
		}
	}
}

func FuzzAsksToStop(f *testing.F) {
	for _, text := range slices.Concat(surely, perhaps, never) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if one, twice := reaction.AsksToStop(text), reaction.AsksToStop(text+" "+text); one == reaction.Sure && twice != reaction.Sure {
			t.Errorf("%q opts out, and not if it is repeated", text)
		}
	})
}
