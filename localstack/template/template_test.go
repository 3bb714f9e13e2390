package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/template"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	const mappings = "Mappings:\n    Names:\n        Send: {Lower: send, Seconds: 60}\n"
	for name, tt := range map[string]struct{ source, want string }{
		"no loop":            {"A: !Ref B\nC: !GetAtt [D, Arn]\n", "A: !Ref B\nC: !GetAtt [D, Arn]\n"},
		"keys":               {"Fn::ForEach::L: [Q, [A, B], {\"${Q}Queue\": 1}]\nC: 2\n", "AQueue: 1\nBQueue: 1\nC: 2\n"},
		"nested loops":       {"Fn::ForEach::L: [P, [A, B], {\"Fn::ForEach::M\": [Q, [C], {\"${P}${Q}\": !Ref P}]}]\n", "AC: A\nBC: B\n"},
		"in a property":      {"R: {Properties: {\"Fn::ForEach::L\": [Q, [A], {\"${Q}\": 1}]}}\n", "R: {Properties: {A: 1}}\n"},
		"text":               {"Fn::ForEach::L: [Q, [A], {\"${Q}\": !Sub \"the ${Q} queue\"}]\n", "A: the A queue\n"},
		"pseudo parameter":   {"Fn::ForEach::L: [Q, [A], {\"${Q}\": !Sub \"${AWS::Region}-${Q}\"}]\n", "A: !Sub \"${AWS::Region}-A\"\n"},
		"reference":          {"Fn::ForEach::L: [Q, [A], {\"${Q}\": !Ref {\"Fn::Sub\": \"${Q}Queue\"}}]\n", "A: !Ref AQueue\n"},
		"attribute":          {"Fn::ForEach::L: [Q, [A], {\"${Q}\": !GetAtt [!Sub \"${Q}Queue\", Arn]}]\n", "A: !GetAtt AQueue.Arn\n"},
		"other references":   {"Fn::ForEach::L: [Q, [A], {\"${Q}\": [!Ref B, !GetAtt C.Arn]}]\n", "A: [!Ref B, !GetAtt C.Arn]\n"},
		"mapping":            {mappings + "Fn::ForEach::L: [Q, [Send], {\"${Q}\": !FindInMap [Names, !Ref Q, Seconds]}]\n", mappings + "Send: 60\n"},
		"mapping by another": {"Fn::ForEach::L: [Q, [A], {\"${Q}\": !FindInMap [M, !Ref Stage, Q]}]\n", "A: !FindInMap [M, !Ref Stage, Q]\n"},
		"mapping in a text": {
			mappings + "Fn::ForEach::L: [Q, [Send], {\"${Q}\": !Sub [\"${AWS::StackName}/${N}\", {N: !FindInMap [Names, !Ref Q, Lower]}]}]\n",
			mappings + "Send: !Sub ${AWS::StackName}/send\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := template.Expand([]byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			quotes := strings.NewReplacer(`"`, "", "'", "")
			if diff := cmp.Diff(quotes.Replace(tt.want), quotes.Replace(string(got))); diff != "" {
				t.Errorf("expanded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpand_MalformedTemplate(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"not YAML": "a: [", "no list": "Fn::ForEach::L: Q", "no fragment": "Fn::ForEach::L: [Q, [A]]", "fragment of a text": "Fn::ForEach::L: [Q, [A], B]",
	} {
		if got, err := template.Expand([]byte(source)); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
}
