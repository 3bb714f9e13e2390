package phone_test

import (
	"testing"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// Numbers of public reports by people who import lists of contacts, as a file has them.
func TestReadTyped_Reports(t *testing.T) {
	t.Parallel()
	for _, report := range []struct{ source, written, want string }{
		{"google/libphonenumber#1979", "005521967506838", "+5521967506838"},
		{"giggsey/libphonenumber-for-php#341", "0055 37 98841-9236", "+5537988419236"},
		{"DrHyde/perl-modules-Number-Phone#77", "0318522222222", "+558522222222"},
		{"google/libphonenumber#856", "09911999598364", "+5511999598364"},
		{"google/libphonenumber#856", "01511999598364", "+5511999598364"},
		{"daddyz/phonelib#326", "5541997520226", "+5541997520226"},
		{"daddyz/phonelib#309", "+55 55 96722 8964", "+5555967228964"},
		{"daddyz/phonelib#309", "55 96722 8964", "+5555967228964"}, // the area code 55, without the country
		{"softmonkeyjapan/opencart-excel-export#4", "00421912345678", "+421912345678"},
		{"SpartnerNL/Laravel-Excel#300", "011987654321", "+5511987654321"},
		{"wwebjs/whatsapp-web.js#596", "5531996883193", "+5531996883193"},
	} {
		if n, rejection := phone.ParseTyped(report.written); rejection != nil || n.String() != report.want {
			t.Errorf("%s: %q is %s, %v; want %s", report.source, report.written, n, rejection, report.want)
		}
	}
}

// Numbers of public reports that nobody can know for certain are refused, with the number that may be meant.
func TestReadTyped_ReportsRefused(t *testing.T) {
	t.Parallel()
	for _, report := range []struct{ source, written, code, suggestion string }{
		{"daddyz/phonelib#326", "554197520226", e164.MissingNinthDigit, "+5541997520226"},
		{"hbb20/CountryCodePickerProject#237", "84 9219-4321", e164.MissingNinthDigit, "+5584992194321"},
		{"wwebjs/whatsapp-web.js#596", "552164180266", e164.MissingNinthDigit, "+5521964180266"},
		{"google/libphonenumber#939", "+5548490420375", e164.InvalidNumber, ""},
		{"shaneapen/WhatsApp-Group-Contacts-Scraper#4", "5,51199E+12", e164.InvalidForm, ""},
		{"softmonkeyjapan/opencart-excel-export#4", "912345678", e164.MissingAreaCode, ""}, // the zero is lost
	} {
		_, rejection := phone.ParseTyped(report.written)
		if rejection == nil || rejection.Code != report.code || report.suggestion != "" && rejection.Suggestion.String() != report.suggestion {
			t.Errorf("%s: %q: %+v; want %s and %q", report.source, report.written, rejection, report.code, report.suggestion)
		}
	}
}
