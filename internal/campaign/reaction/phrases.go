package reaction

import (
	"strings"
	"sync"
)

const (
	maxPhrase = 6       // words of a phrase
	wordMore  = "mais"  // most phrases can have it
	wordNow   = "agora" // see withoutStress
)

// messageWords are the words for what people get. They can follow each phrase: parar ofertas.
var messageWords = []string{"mensagens", "ofertas", "spam"}

// refusals are words of refusal, in the words of spelled. Two of them together may be an opt-out.
var refusals = []string{"basta", "chega", "chegade", "cancelar", "tirar", "remover", "bloquear", "perturbar", "incomoda", "spam"}

// askedFor are the phrases with which people ask for no further messages, in the words of spelled. A word can be one
// of several (|) and can be left out (?).
var askedFor = []struct {
	certainty Certainty
	rows      []string
}{
	{Sure, []string{
		"quero? parar receber?",
		"quero? parar receber anúncios",
		"quero|pode? parar mandar mensagens|ofertas|anúncios?",
		"quero|pode? parar mandar mensagens|ofertas|anúncios número|contato",
		"parar com isso?",
		"quero? parar perturbar saco?",
		"quero? sair lista?",
		"quero|pode? fazer? descadastrar número|contato|nome? lista|daí?",
		"não quero receber nada|anúncios?",
		"não quero mais receber isso",
		"não quero receber mensagens|ofertas|anúncios número|contato",
		"não tenho interesse receber",
		"não quero mensagens",
		"não quero mais anúncios",
		"não quero mais ofertas",
		"não mandar mais nada?",
		"não mandar mensagens|ofertas|anúncios|nada número|contato?",
		"não precisa mais mandar mensagens|ofertas|anúncios",
		"não precisa mandar mais mensagens|ofertas|anúncios",
		"não entrar contato",
		"não perturbar",
		"não quero ser perturbar",
		"chegade mensagens|ofertas|anúncios|spam",
		"quero|pode? ser? tirar|remover número|contato|nome? lista",
		"quero? ser? remover",
		"quero|pode? cancelar envio|recebimento? mensagens",
		"quero|pode? cancelar envio|recebimento ofertas|anúncios",
		"não quero envio|recebimento mensagens|ofertas|anúncios",
	}},
	{Perhaps, []string{
		"quero? cancelar tudo|isso|lista|assinatura|conta|inscrição|envio|recebimento|ofertas|anúncios|número|contato|nome?",
		"para",
		"chega",
		"basta anúncios?",
		"chegade",
		"chegade|basta mandar mensagens|ofertas|anúncios|isso?",
		"quero? ser? tirar dados|conta|isso|daí?",
		"quero|pode? ser? tirar|remover número|contato|nome",   // a telephone can be taken away, or a name from a booking
		"quero|pode? ser? tirar|remover|cancelar|sair própria", // the list of somebody else
		"bloquear número|contato?",
		"vou bloquear",
		"deixar paz",
		"não quero isso|nada|ofertas|anúncios|contato?",
		"não mandar",
		"não precisa mandar|receber isso|nada|anúncios?",
		"não precisa entrar contato",
		"não receber isso|nada|anúncios?",
		"não entrar número",
		"não incomoda saco?",
		"não tenho? interesse",
		"sem interesse",
		"sem mensagens|ofertas|anúncios|spam|contato",
		"não autorizei",
		"não quero participar",
		"revogar consentimento",
		"isso? spam",
	}},
}

// phrases are the phrases of askedFor, as wordsOf returns their words.
var phrases = sync.OnceValue(func() map[string]Certainty {
	all := map[string]Certainty{}
	for _, asked := range askedFor {
		for _, row := range asked.rows {
			for _, phrase := range variants(row) {
				phrase = strings.Join(wordsOf(phrase), " ")
				all[phrase] = max(all[phrase], asked.certainty)
			}
		}
	}
	return all
})

// variants returns the phrases of a row of askedFor.
func variants(row string) []string {
	all := []string{""}
	for word := range strings.FieldsSeq(row) {
		word, optional := strings.CutSuffix(word, "?")
		choices := strings.Split(word, "|")
		if optional {
			choices = append(choices, "")
		}
		all = joined(all, choices)
	}
	return all
}

func joined(starts, ends []string) (all []string) {
	for _, start := range starts {
		for _, end := range ends {
			all = append(all, start+" "+end)
		}
	}
	return all
}

// spelled are the words of the phrases with what people write for them: forms, synonyms, abbreviations and mistakes.
// Accents, capitals and repeated letters do not matter.
var spelled = []struct{ word, forms string }{
	// Courtesy and haste.
	{"", "por favor, favor, pf, pfv, pfvr, por gentileza, gentileza, please, obrigado, obrigada, obg, obgd, obgda, brigado, brigada, " +
		"muito obrigado, muito obrigada, grato, grata, agradeço, agradecido, agradecida, desde já, valeu, vlw, oi, oie, olá, opa, ei, " +
		"bom dia, boa tarde, boa noite, abs, abraço, abraços, att, atenciosamente, já, mesmo, msm, imediatamente, urgente, aí, então, tá, " +
		"ok, tudo bem, pelo amor de deus, moço, moça, senhor, senhora, sr, sra, amigo, amiga, querido, querida, gente, pessoal"},
	// Small words.
	{"", "eu, me, mim, pra mim, para mim, d, de, da, do, das, dos, a, o, as, os, e, em, no, na, nos, nas, esse, essa, esses, essas, este, " +
		"esta, estes, estas, desse, dessa, desses, dessas, deste, desta, destes, destas, nesse, nessa, neste, nesta, meu, minha, meus, " +
		"minhas, seu, sua, seus, suas, vc, vcs, você, vocês, pelo, pela, nenhum, nenhuma, nenhum tipo, qualquer, qualquer tipo"},
	{"agora", "aqui, por aqui"},
	{"isso", "disso, nisso"},
	{"daí", "daqui, dali"},
	{"mais", "mas"},
	{"não", "n, naum, nun, nunca mais, num me"}, // num is also "em um"
	{"não mandar", "num mande, num mandem, num manda, num envie, num enviem, num envia"},
	{"não precisa", "não precisam"},
	{"não quero", "num quero, nun quero, não aceito, não autorizo, n aceito, n autorizo"},
	{"quero", "quero que, quero q, queria, queria que, qro, kero, desejo, gostaria, gostaria que, preciso que, " +
		"peço, peço que, peço para, peço pra, solicito, solicito que"},
	{"pode", "podem, poderia, poderiam, tem como"},
	{"quero sair", "quero sai"},
	{"parar", "pare, parem, paren, pararem, para de, para de ficar, pare de ficar, parem de ficar, parar de ficar, deixa de, deixe de, " +
		"deixem de, prar, stop"},
	{"parar com", "para com"},
	{"sair", "opt out, optout"},
	{"descadastrar", "descadastra, descadastre, descadastrem, descadastro, descadastramento, descadastrado, descadastrada, " +
		"descadrastar, descadrastrar, descadrasta, descadrastra, descadrastro, descadrasto, descadastar, descadasta, descadatrar, " +
		"descadrastre, descastrar, discadastrar, discadastra, des cadastrar, desinscrever, desinscreva, desinscreve, desinscrição, " +
		"desincrever, unsubscribe"},
	{"receber", "recebe, receba, recebendo, recebr, reseber"},
	{"mandar", "mande, mandem, manda, manden, mandando, mandarem, enviar, envie, enviem, envia, envien, enviando, enviarem"},
	{"mensagens", "mensagem, mensagen, mensage, mensages, mesagem, mesagens, mensajem, mensajens, msg, msgs, sms, rcs, " +
		"notificação, notificações, notificaçao, propaganda, propagandas"},
	{"anúncios", "anúncio, publicidade, marketing, zap, whats, whatsapp"}, // people also have their own
	{"spam", "spams"},
	{"ofertas", "oferta, promoção, promoções, promo, promos, promoçoes, novidades, newsletter"},
	{"lista", "listas, lista de transmissão, lista de contatos, lista de contato, grupo, cadastro, cadastros, base, base de dados, " +
		"banco de dados, mailing, contatos"},
	{"própria", "a lista, as listas, o grupo, os grupos, o cadastro, a base"},
	{"juntos", "em grupo"},
	{"número", "números, telefone, tel, celular, cel, fone"},
	{"tirar", "tira, tire, tirem, retirar, retira, retire, retirem, excluir, exclua, exclui, exclue, excluam, " +
		"excluído, excluída, exclusão, tirado, tirada, retirado, retirada, deletar, delete, deleta, deletado, apagar, apague, apaga, apagado"},
	{"remover", "remova, remove, removam, removido, removida, remoção"},
	{"perturbar", "perturbe, perturbem, pertubar, pertube, pertubem, perturbando, perturbado, perturbada, incomodar, incomode, " +
		"incomodem, incomodando, incomodado, incomodada, encher, enchendo, importunar, importunado"},
	{"incomoda", "perturba, enche, encha, encham"}, // also "it is no bother"
	{"cancelar", "cancela, cancele, cancelem, canselar, cancelamento, desativar, desativa, desative, desativem"},
	{"inscrição", "incrição, inscrissão"},
	{"entrar", "entre, entrem, entra"},
	{"chegade", "chega de, chega dessa, chega dessas, chega desse, chega desses, basta de, basta dessas, basta desses"},
	{"envio", "envios"},
	{"interesse", "interessa, interessado, interessada, estou interessado, estou interessada, to interessado, to interessada"},
	{"revogar", "revogo, revoga"},
	{"bloquear", "bloqueia, bloqueie, bloqueio"},
	{"deixar", "deixa, deixe, deixem"},
}
