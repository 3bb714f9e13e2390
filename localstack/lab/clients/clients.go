// Package clients tests common OAuth libraries and client generators on a running
// stack. Each folder has a small program for one of them. A program reads BASE_URL,
// CLIENT_ID, CLIENT_SECRET, TEMPLATE_ID, CAMPAIGN_ID and PHONES from its environment
// and prints one JSON object.
package clients

// Client is the program of a folder and its commands.
type Client struct {
	Name    string     // name of its folder
	needs   []string   // required tools on the PATH
	install [][]string // commands that install the locked dependencies, once
	build   [][]string // commands that generate and compile, before each run
	run     []string
	// inHeader and inForm are the errors of the library for a wrong secret in the
	// header or in the form. They are empty for a program that dispatches a campaign.
	inHeader, inForm string
}

func (c Client) dispatches() bool { return c.inHeader == "" }

// All returns the programs of the OAuth libraries, then of the client generators.
func All() []Client {
	return []Client{
		golang("xoauth2", "*oauth2.RetrieveError"),
		python("authlib", "OAuthError"),
		python("requests-oauthlib", "InvalidClientError"),
		node("openid-client", "WWWAuthenticateChallengeError", "ResponseBodyError"),
		node("simple-oauth2", "Boom Response Error: 401 Unauthorized", "Boom Response Error: 401 Unauthorized"),
		spring(),
		typescriptGenerator(),
		pythonGenerator(),
		goGenerator(),
	}
}

func golang(name, thrown string) Client {
	return Client{
		Name: name, needs: []string{"go"},
		build: [][]string{{"go", "build", "-o", "program", "."}}, run: []string{"./program"},
		inHeader: thrown, inForm: thrown,
	}
}

func python(name, thrown string) Client {
	return Client{
		Name: name, needs: []string{"python3"},
		install: [][]string{
			{"python3", "-m", "venv", "venv"},
			{
				"venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input",
				"--no-deps", "--require-hashes", "-r", "requirements.txt",
			},
		},
		run:      []string{"venv/bin/python", "main.py"},
		inHeader: thrown, inForm: thrown,
	}
}

func node(name, inHeader, inForm string) Client {
	return Client{
		Name: name, needs: []string{"node", "npm"},
		install: [][]string{{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}},
		run:     []string{"node", "main.mjs"}, inHeader: inHeader, inForm: inForm,
	}
}

func spring() Client {
	const thrown = "OAuth2AuthorizationException invalid_token_response caused by Unauthorized"
	return Client{
		Name: "spring", needs: []string{"java", "mvn", "sha256sum"},
		install: [][]string{
			{"mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DoutputDirectory=jars"},
			{"sha256sum", "--quiet", "--strict", "--check", "jars.sha256"},
		},
		run:      []string{"java", "-cp", "jars/*", "Main.java"},
		inHeader: thrown, inForm: thrown,
	}
}

func typescriptGenerator() Client {
	c := node("openapi-typescript", "", "")
	c.build = [][]string{{"node_modules/.bin/openapi-typescript", "openapi.json", "-o", "api.d.ts"}, {"node_modules/.bin/tsc"}}
	c.run = []string{"node", "out/main.js"}
	return c
}

func pythonGenerator() Client {
	c := python("openapi-python-client", "")
	c.build = [][]string{
		{
			"venv/bin/openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "generated",
			"--meta", "none", "--overwrite", "--fail-on-warning",
		},
		{"venv/bin/mypy", "--strict", "--follow-imports", "silent", "main.py"},
	}
	return c
}

func goGenerator() Client {
	c := golang("oapi-codegen", "")
	c.build = [][]string{
		{"mkdir", "-p", "api"},
		{"go", "tool", "oapi-codegen", "-config", "config.yaml", "openapi.json"},
		{"go", "vet", "./..."},
		{"go", "build", "-o", "program", "."},
	}
	return c
}
