package campaign

import (
	"slices"

	"campaign-dispatch/internal/campaign/content"
)

//go:generate go run campaign-dispatch/localstack/tools/codes ../..

// The codes of messages that ended undelivered. Package content has two more, for its limits. Package
// rcs has further codes for attempts that are repeated: no message ends with them.
const (
	CodeUnreachable      = "unreachable"
	CodeUnsupported      = "unsupported"
	CodeAgentNotLaunched = "agent_not_launched"
	CodeRejected         = "rejected"
	CodeOptedOut         = "opted_out"
	CodeSuppressed       = "suppressed" // the number is on a list
	CodeCancelled        = "cancelled"
	CodeRevoked          = "revoked"
	CodeNotAfterPassed   = "not_after_passed" // the message was never sent
	CodeWindowClosed     = "window_closed"    // the send window was closed when the NotAfter passed, or never opens
	CodeNotSentInTime    = "not_sent_in_time" // within MaxFailingTime
	CodeTTLPassed        = "ttl_passed"       // the message was sent, and not delivered in time
	CodeNoAnswer         = "no_answer"
	CodePayloadMissing   = "payload_missing"
	CodeErased           = "erased"
	CodeFailed           = "failed" // of failed messages without another code
	// CodeSuperseded is the code of a correction: a negative count for messages that were
	// delivered after another final outcome. Their earlier code is not recorded. The
	// corrections keep the sum of an outcome's reasons equal to its count.
	CodeSuperseded = "superseded"
)

// Text is a text in the languages of the service.
type Text struct{ English, Portuguese string }

// MessageCode is why messages ended undelivered, in the words of each place that shows it.
type MessageCode struct {
	Code string
	// Number stands for the code in stored ledgers. A code without a number is stored as text.
	Number  int
	Outcome Outcome // of its messages
	// Reason is a sentence: the English one of the API, webhooks and files, the Portuguese one
	// of pages and files. A code without one is described as CodeFailed.
	Reason Text
	OnPage string // the English sentence of pages, if it is not that of Reason
	// Meaning and Action, what to do, are the cells of the table in the guides. Codes with equal
	// cells share a row. The lists of codes in the API's documentation contain the codes with
	// a meaning.
	Meaning, Action Text
	Cause           string // cell of the table of frequent codes in docs/api.md, "" if not shown there
}

// Cells of several codes.
var (
	doNothing         = Text{"Nothing.", "Nada."}
	askOperator       = Text{"Ask your operator.", "Fale com o operador do serviço."}
	campaignCancelled = Text{"The campaign was cancelled.", "A campanha foi cancelada."}
	contentsDeleted   = Text{
		"The contents were deleted before the message was sent: on request, or because they expired.",
		"O conteúdo foi apagado antes do envio: a pedido, ou porque expirou.",
	}
)

// MessageCodes are all codes of messages. "Common changes" in docs/development.md has the steps for a
// new one.
//
// Append only: never remove a row or change a number. Add a code without a number. Give it
// the next number in a later deployment than the first one that records it: every version
// reads text, but the previous version reads an unknown number as damage.
var MessageCodes = []MessageCode{
	{Code: CodeSuperseded, Number: 1},
	{
		Code: CodeFailed, Number: 2, Outcome: OutcomeFailed,
		Reason: Text{"The message could not be delivered.", "Não foi possível entregar a mensagem."},
	},
	{
		Code: CodeTTLPassed, Number: 3, Outcome: OutcomeExpired,
		Reason: Text{"The message could not be delivered in time.", "Não foi possível entregar a tempo."},
		Meaning: Text{
			"The phone was not online for 24 hours, or until `notAfter`.",
			"O celular não ficou on-line por 24 horas, ou até `notAfter`.",
		},
		Action: Text{"Dispatch again later.", "Dispare de novo mais tarde."},
	},
	{
		Code: CodeRevoked, Number: 4, Outcome: OutcomeRevoked,
		Reason:  Text{"The message was revoked before it was delivered.", "A mensagem foi retirada antes da entrega."},
		OnPage:  "The message was withdrawn before it was delivered.",
		Meaning: campaignCancelled, Action: doNothing,
	},
	{
		Code: CodeCancelled, Number: 5, Outcome: OutcomeStopped,
		Reason:  Text{"The campaign was cancelled before the message was sent.", "A campanha foi cancelada antes do envio."},
		Meaning: campaignCancelled, Action: doNothing,
	},
	{
		Code: CodeNoAnswer, Number: 6, Outcome: OutcomeExpired,
		Reason: Text{"The provider sent no delivery status.", "A operadora não informou o que houve com a mensagem."},
		OnPage: "The provider did not report what happened to the message.",
		Meaning: Text{
			"The provider reported nothing for 26 hours after the batch was sent.",
			"O provedor não informou nada por 26 horas depois do envio do lote.",
		},
		Action: Text{"The message may have arrived: do not repeat it.", "A mensagem pode ter chegado: não a repita."},
		Cause:  "The provider reported nothing about the message for 26 hours.",
	},
	{
		Code: CodeUnreachable, Number: 7, Outcome: OutcomeFailed,
		Reason: Text{"The number cannot be reached by RCS.", "O número não recebe RCS."},
		Meaning: Text{
			"The number has no RCS, or its network does not serve your agent.",
			"O número não tem RCS, ou a rede dele não atende o seu agente.",
		},
		Action: Text{"Use another channel.", "Use outro canal."},
	},
	{
		Code: CodeUnsupported, Number: 8, Outcome: OutcomeFailed,
		Reason: Text{
			"The recipient's device or the provider does not support the message.",
			"O aparelho ou a operadora não aceita este tipo de mensagem.",
		},
		Meaning: Text{"The phone does not support the message.", "O celular não aceita a mensagem."},
		Action:  Text{"Send a text template.", "Envie um modelo de texto."},
	},
	{
		Code: CodeAgentNotLaunched, Number: 9, Outcome: OutcomeFailed,
		Reason: Text{"The agent is not launched for this number.", "O remetente ainda não pode enviar para este número."},
		OnPage: "The sender may not send to this number yet.",
		Meaning: Text{
			"Your agent is not launched on the number's network.",
			"O seu agente ainda não está ativo na operadora do número.",
		},
		Action: askOperator,
	},
	{
		Code: CodeRejected, Number: 10, Outcome: OutcomeFailed,
		Reason:  Text{"The provider refused the message.", "A operadora recusou a mensagem."},
		Meaning: Text{"The provider refused the message.", "O provedor recusou a mensagem."},
		Action:  askOperator,
	},
	{
		Code: CodeOptedOut, Number: 11, Outcome: OutcomeFailed,
		Reason:  Text{"The recipient has opted out of messages.", "O destinatário pediu para não receber mensagens."},
		Meaning: Text{"The recipient asked for no further messages.", "O destinatário pediu para não receber mais mensagens."},
		Action:  Text{"Do not write to them.", "Não escreva para ele."},
		Cause: "The recipient texted `parar` or a phrase such as `não quero mais receber`, or unsubscribed, and has not texted `começar` since. " +
			"An opt-out applies to all campaigns of the tenant.",
	},
	{
		Code: CodeNotAfterPassed, Number: 12, Outcome: OutcomeExpired,
		Reason: Text{"The notAfter time passed before the message was sent.", "O prazo para o envio terminou."},
		OnPage: "The deadline for sending has passed.",
		Meaning: Text{
			"The `notAfter` time passed before the message was sent.",
			"O horário `notAfter` passou antes do envio.",
		},
		Action: Text{"Dispatch again with a later time.", "Dispare de novo com um horário mais tarde."},
	},
	{
		Code: CodePayloadMissing, Number: 13, Outcome: OutcomeFailed,
		Reason: Text{
			"The contents of the message were deleted before it was sent.",
			"O conteúdo da mensagem não está mais guardado.",
		},
		OnPage:  "The message's content is no longer kept.",
		Meaning: contentsDeleted, Action: doNothing,
	},
	{
		Code: CodeNotSentInTime, Number: 14, Outcome: OutcomeFailed,
		Reason: Text{
			"The provider did not accept the message within 72 hours.",
			"A operadora não aceitou a mensagem em 72 horas de tentativas.",
		},
		OnPage: "The provider could not take the message in 72 hours of attempts.",
		Meaning: Text{
			"The provider accepted no attempt for 72 hours.",
			"O provedor não aceitou nenhuma tentativa por 72 horas.",
		},
		Action: Text{"Dispatch again.", "Dispare de novo."},
		Cause:  "The batch has no `notAfter`, and all its attempts failed for 72 hours.",
	},
	{
		Code: content.CodeTextTooLong, Number: 15, Outcome: OutcomeFailed,
		Reason: Text{
			"The text of the message is too long for the provider.",
			"O texto da mensagem é longo demais para a operadora.",
		},
		Meaning: Text{
			"After rendering, a text exceeds the provider's limit.",
			"Depois de preenchidas as variáveis, um texto passa do limite do provedor.",
		},
		Action: Text{"Shorten the values.", "Encurte os valores."},
		Cause: "After rendering, the text, title, description or a suggestion exceeds the provider's limit. " +
			"The message is not sent.",
	},
	{
		Code: CodeErased, Number: 16, Outcome: OutcomeFailed,
		Reason: Text{
			"The recipient's data was erased before the message was sent.",
			"Os dados do destinatário foram apagados antes do envio.",
		},
		Meaning: contentsDeleted, Action: doNothing,
		Cause: "The recipient's data was [erased](privacy.md#erase-and-export) before the message was sent.",
	},
	{
		Code: content.CodeInvalidURL, Outcome: OutcomeFailed,
		Reason: Text{
			"A URL of the message is not a complete https URL.",
			"Um endereço da mensagem não é um endereço https completo.",
		},
		OnPage: "An address in the message is not a complete https address.",
		Meaning: Text{
			"After rendering, a URL is not a complete https URL.",
			"Depois de preenchidas as variáveis, um endereço não é um endereço https completo.",
		},
		Action: Text{"Correct the value of the variable in the URL.", "Corrija o valor da variável no endereço."},
		Cause:  "After rendering, a URL of the message is not a complete https URL. The message is not sent.",
	},
	{
		Code: CodeWindowClosed, Outcome: OutcomeExpired,
		Reason: Text{"No sending hours were left for the message.", "Não havia mais horário de envio para a mensagem."},
		Meaning: Text{
			"The `notAfter` time passed outside the sending hours, or for 72 hours there were none left for the message.",
			"O horário `notAfter` passou fora do horário de envio, ou a mensagem ficou 72 horas sem nenhum horário de envio.",
		},
		Action: Text{
			"Dispatch again with a later time, or with other sending hours.",
			"Dispare de novo com um horário mais tarde, ou com outro horário de envio.",
		},
		Cause: "The `notAfter` time passed outside the sending hours in the recipient's time zone: the dry run says in `cannotGo` " +
			"how many messages are affected. Or for 72 hours there were [no hours left](#sending-hours) for the message.",
	},
	{
		Code: CodeSuppressed, Outcome: OutcomeFailed,
		Reason: Text{"The number is on a list of numbers that get no messages.", "O número está numa lista de quem não recebe mensagens."},
		Meaning: Text{
			"The number is on one of your lists. `list` is its name.",
			"O número está numa das suas listas. `list` é o nome dela.",
		},
		Action: Text{"Do not write to them.", "Não escreva para ele."},
		Cause:  "The number is on a [list](#lists) that applies to the message. `list` is the name of the list.",
	},
}

// described are the codes that have a reason.
var described = func() map[string]MessageCode {
	codes := make(map[string]MessageCode, len(MessageCodes))
	for _, c := range MessageCodes {
		if c.Reason.English != "" {
			codes[c.Code] = c
		}
	}
	return codes
}()

// DescribeCode returns the row of a code. If the code has no description, known is false and
// the row is that of CodeFailed.
func DescribeCode(code string) (row MessageCode, known bool) {
	if row, known = described[code]; !known {
		row = described[CodeFailed]
	}
	return row, known
}

// StoredCodes returns the codes by their numbers. Number 0 is no code.
func StoredCodes() []string {
	codes := []string{""}
	for _, c := range MessageCodes {
		if c.Number >= len(codes) {
			codes = slices.Grow(codes, c.Number)[:c.Number+1]
		}
		if c.Number > 0 {
			codes[c.Number] = c.Code
		}
	}
	return codes
}
