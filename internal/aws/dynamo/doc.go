// Package dynamo stores the service's state in four DynamoDB tables. It maps
// failures of the SDK to the errors of package campaign.
//
// The Auth table has the partition key pk. The other tables also have the sort
// key sk. The following lists have every row: its key, its content, the packages that
// write it, and after a semicolon those that read it. Words in lower case stand for values:
// "key" is a campaign.BatchKey, "hash" a SHA-256 hash, "time" an instant. keys.go builds the keys.
//
// AuthStore reads and writes the Auth table and the list entries TEN#tenant
// CREDENTIAL#client. Stores has a store for each other subject, those of operators and of
// the dashboard included. CampaignStore also reads the CRED# and CALLS# rows of a dispatch
// call. The stores share the operations of table and do not use each other.
//
// # Auth
//
//	CRED#client         credential: settings; oauth, dispatch, dashboard
//	RT#hash             refresh token: oauth; the same
//	FAM#family          revocation of a token family: oauth; the same
//	RATE#hash           window or slots of a rate limit: oauth; oauth, dashboard
//	CALLS#tenant        bucket of dispatch calls: dispatch; the same
//	PERSON#tenant#hash  session revocation of a user: settings, dashboard; dashboard
//
// # Campaigns
//
//	C#tenant#campaign     META                 campaign: dispatch, control, expiry; the same, query, release, sweep
//	C#tenant#campaign     BATCH#batch          batch: dispatch, control, release, send, outcome, privacy; the same, query, webhook, sweep
//	C#tenant#campaign     SET#ordinal          phone numbers of a batch: dispatch, privacy; the same, query
//	C#tenant#campaign     PROGRESS             number of completed batches: outcome, control; outcome, control, query, dashboard
//	C#tenant#campaign     RESULTS              its results when a page last read them, and its opt-outs: dashboard; the same
//	N#tenant#hash         NAME                 name of a campaign: dispatch, expiry; dispatch
//	I#tenant#client#hash  IDEM                 response of an idempotency key: dispatch, privacy; the same
//	B#key                 HEAD                 batch of a message ID: dispatch; outcome, webhook, feed, query
//	TEN#tenant            TENANT               tenant: settings; settings, release, dashboard
//	TEN#tenant            BILLING              prices and limits: settings, dashboard; dispatch, control, dashboard
//	TEN#tenant            SENDPOLICY           hours at which messages may go: dashboard; dispatch, intake, control, release, send, sweep, query, dashboard
//	TEN#tenant            BRAND                name of the sender and logo: dashboard; the same
//	TEMPLATES#tenant      TEMPLATE#template    list entry of a template: settings, dashboard, templates; the same
//	TEMPLATES#tenant      ARCHIVED#template    mark of an archived template: dashboard; the same
//	TEN#tenant            CREDENTIAL#client    list entry of a credential: settings, dashboard; the same
//	TEN#tenant            MEDIA#hash           file that messages can show: dashboard; settings, dashboard
//	TEN#tenant            ENDPOINT#endpoint    webhook endpoint: settings, dashboard, webhook; outcome, feed, webhook, dashboard
//	TEN#tenant            ENDPOINTS            guard of the maximum of endpoints: settings, dashboard; the same
//	TEMPLATES#tenant      GUARD                guard of the maximum of templates of the API: templates; the same
//	TEN#tenant            CIRCUIT#endpoint     circuit of an endpoint: webhook, settings; webhook, sweep, dashboard
//	BUDGET#tenant         month                millionths of BRL reserved: dispatch, control, outcome, sweep; dispatch, control, dashboard
//	DAYS#tenant           date                 results of a day: outcome, recount; recount, dashboard
//	RECOUNT               CURSOR               tenants that a recount of days has not finished: recount; the same
//	T#template            CURRENT              newest version: settings, dashboard, templates; dispatch, dashboard, templates
//	T#template            V#version            version of a template: settings, dashboard, templates; control, release, send, sweep, query, privacy, dashboard, templates
//	A#agent               AGENT                agent: settings; send, events, settings
//	A#agent               OWNER                owner of an agent: settings; outcome, settings, privacy
//	A#agent               RATE                 rate limit of an agent: send; send, sweep
//	PAUSE#subject         PAUSE                pause of sending: settings; send, sweep
//	PAUSE#campaigns#tenant  PAUSE              paused campaigns of a tenant: control, outcome, expiry; send, sweep
//	DIRECTORY             TENANT#tenant        list entry: settings; settings
//	DIRECTORY             AGENT#agent          list entry: settings; settings
//	DIRECTORY             PAUSE#subject        list entry: settings; settings
//	RESUMED               subject              end of a pause, changed hours: settings, control, dashboard, outcome; sweep
//	OPT#tenant            shard                opted-out phone numbers: dashboard, optout, restore; dashboard, dispatch, intake, send, privacy
//	OPT#tenant#shard      piece                piece of a large shard: dashboard, optout, restore; dashboard, dispatch, intake, send, privacy
//	LISTS#tenant          name                 list of numbers without messages: lists, dashboard; lists, dashboard, dispatch, intake, send, query, webhook, exports, privacy, sweep, restore
//	LISTS#tenant          #                    guard of the numbers of lists: lists, dashboard; the same
//	LISTS#tenant          !                    guard of the maximum of lists: lists, dashboard; the same
//	REPLIES#tenant        time#hash            written reply: outcome; dashboard, privacy
//	DOUBTS#tenant         hash                 newest reply of a number that may be an opt-out, until it is settled: outcome; outcome, dashboard, privacy
//	DOUBTED#tenant        hash                 guard of the event of such a reply: outcome; the same
//	OPTOUTLOG#tenant      time#hash            opt-out, in order of arrival: outcome; recount, privacy
//	AUDIT#tenant          time                 audit log entry: dashboard, templates; dashboard
//	FORM#tenant           hash                 submitted form token: dashboard; the same
//	TEN#tenant            TESTNUMBERS          saved numbers for tests: dashboard, privacy; the same
//	TEN#tenant            APPROVAL             when campaigns need approval: dashboard; the same
//	SUBMISSIONS#tenant    SUBMISSION#campaign  list of people that becomes a campaign: dashboard, intake, privacy, control; the same
//	SUBMISSIONS#tenant    COLUMNS              names of columns that were confirmed: dashboard; intake
//	EXPORT#export         EXPORT               export of a campaign: campaigns, dashboard, exports, privacy; the same
//	EXPORT#export         SNAPSHOT             sequences of its batches: campaigns, dashboard; exports
//	EXPORTS#tenant        campaign#export      list entry of an export: campaigns, dashboard; dashboard, privacy
//	EXPORTS#tenant        SLOT#number          unfinished export: campaigns, dashboard, exports; campaigns, dashboard
//
// # Outcomes
//
//	key  HEAD             states, counts and newest log entries of a batch: outcome; outcome, send, query, feed
//	key  LOG#sequence     older log entries: outcome; query, feed
//	key  TAPS             tapped suggestions and newest entries of their log: outcome; outcome, query, dashboard
//	key  TAPS#sequence    older entries of the log of taps: outcome; query, privacy
//	key  CLICKS           clicked links and newest entries of their log: outcome; outcome, query, dashboard
//	key  CLICKS#sequence  older entries of the log of clicks: outcome; query, privacy
//
// # Webhooks
//
//	W#delivery                DELIVERY#tenant#endpoint  delivery: outcome, webhook; webhook, sweep
//	FAILURES#tenant#endpoint  time#webhook              failed post: webhook; settings, dashboard
//	POSTS#tenant#endpoint     time#webhook              kept post: webhook; dashboard, privacy
//	STATS#tenant              hour                      counts of posts: webhook; dashboard
package dynamo
