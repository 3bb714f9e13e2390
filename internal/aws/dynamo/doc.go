// Package dynamo stores the service's state in four DynamoDB tables. It maps
// failures of the SDK to the errors of package campaign.
//
// The Auth table has the partition key pk. The other tables also have the sort
// key sk. The following tables list every row, with the packages that write and
// read it. "key" is a campaign.BatchKey, "hash" a SHA-256 hash.
//
// AuthStore reads and writes the Auth table and the list entries TEN#tenant
// CREDENTIAL#client. Stores has a store for each other subject, those of operators and of
// the dashboard included. AcceptanceStore also reads the CRED# and CALLS# rows of a dispatch
// call.
//
// # Auth
//
//	pk                  row                              written by        read by
//	CRED#client         credential                       admin             oauth, dispatch, dashboard
//	RT#hash             refresh token                    oauth             oauth
//	FAM#family          revocation of a token family     oauth             oauth
//	RATE#hash           window or slots of a rate limit  oauth             oauth, dashboard
//	CALLS#tenant        bucket of dispatch calls         dispatch          dispatch
//	PERSON#tenant#hash  session revocation of a user     admin, dashboard  dashboard
//
// # Campaigns
//
//	pk                        sk                              row                                                  written by                                          read by
//	C#tenant#campaign         META                            campaign                                             dispatch, control, retention                        dispatch, control, query, release, sweep, retention
//	C#tenant#campaign         BATCH#batch                     batch                                                dispatch, control, release, send, outcome, privacy  the same, query, webhook, sweep
//	C#tenant#campaign         SET#ordinal                     phone numbers of a batch                             dispatch, privacy                                   dispatch, query, privacy
//	C#tenant#campaign         PROGRESS                        number of completed batches                          outcome                                             outcome, query, dashboard
//	C#tenant#campaign         RESULTS                         its results when a page last read them               dashboard                                           dashboard
//	N#tenant#hash             NAME                            name of a campaign                                   dispatch, retention                                 dispatch
//	I#tenant#client#hash      IDEM                            response of an idempotency key                       dispatch, privacy                                   dispatch, privacy
//	B#key                     HEAD                            batch of a message ID                                dispatch                                            outcome, webhook, feed, query
//	TEN#tenant                TENANT                          tenant                                               admin                                               admin, release, dashboard
//	TEN#tenant                BILLING                         prices and limits                                    admin, dashboard                                    dispatch, control, dashboard
//	TEN#tenant                BRAND                           name of the sender and logo                          dashboard                                           dashboard
//	TEN#tenant                TEMPLATE#template               list entry of a template                             admin, dashboard, templates                         admin, dashboard, templates
//	TEN#tenant                ARCHIVED#template               mark of an archived template                         dashboard                                           dashboard
//	TEN#tenant                CREDENTIAL#client               list entry of a credential                           admin, dashboard                                    admin, dashboard
//	TEN#tenant                MEDIA#hash                      file that messages can show                          dashboard                                           admin, dashboard
//	TEN#tenant                ENDPOINT#endpoint               webhook endpoint                                     admin, dashboard, webhook                           outcome, feed, webhook, dashboard
//	TEN#tenant                ENDPOINTS                       guard of the maximum of endpoints                    admin, dashboard                                    admin, dashboard
//	TEN#tenant                TEMPLATES                       guard of the maximum of templates of the API         templates                                           templates
//	TEN#tenant                CIRCUIT#endpoint                circuit of an endpoint                               webhook, admin                                      webhook, sweep, dashboard
//	BUDGET#tenant             month                           reservations of a month, in millionths of BRL        dispatch, control, outcome, sweep               dispatch, control, dashboard
//	DAYS#tenant               date                            results of a day                                     outcome, recount                                recount, dashboard
//	T#template                CURRENT                         newest version of a template                         admin, dashboard, templates                         dispatch, dashboard, templates
//	T#template                V#version                       version of a template                                admin, dashboard, templates                         send, privacy, dashboard, templates
//	A#agent                   AGENT                           agent                                                admin                                               send, events, admin
//	A#agent                   OWNER                           owner of an agent                                    admin                                               outcome, admin, privacy
//	A#agent                   RATE                            rate limit of an agent                               send                                                send, sweep
//	PAUSE#subject             PAUSE                           pause of sending                                     admin                                               send, sweep
//	DIRECTORY                 TENANT#, AGENT# or PAUSE#id     list entry of any of these                           admin                                               admin
//	OPT#tenant                shard                           opted-out phone numbers                              dashboard, optout, restore                          dashboard, send, privacy
//	OPT#tenant#shard          part                            part of a large shard                                dashboard, optout, restore                          dashboard, send, privacy
//	REPLIES#tenant            time#hash                       written reply                                        outcome                                             dashboard, privacy
//	AUDIT#tenant              nanoseconds                     audit log entry                                      dashboard, templates                                dashboard
//	FORM#tenant               hash                            submitted form token                                 dashboard                                           dashboard
//	TEN#tenant                TESTNUMBERS                     saved numbers for tests                              dashboard, privacy                                  dashboard, privacy
//	TEN#tenant                APPROVAL                        when campaigns need approval                         dashboard                                           dashboard
//	SUBMISSIONS#tenant        SUBMISSION#campaign             list of people that becomes a campaign               dashboard, intake, privacy                          dashboard, intake, privacy
//	SUBMISSIONS#tenant        COLUMNS                         names of columns that were confirmed                 dashboard                                           intake
//	EXPORT#export             EXPORT                          export of a campaign                                 campaigns, dashboard, exports, privacy              the same
//	EXPORT#export             SNAPSHOT                        sequences of its batches                             campaigns, dashboard                                exports
//	EXPORTS#tenant            campaign#export                 list entry of an export                              campaigns, dashboard                                dashboard, privacy
//	EXPORTS#tenant            SLOT#number                     unfinished export                                    campaigns, dashboard, exports                       campaigns, dashboard
//
// # Outcomes
//
//	pk   sk               row                                                 written by  read by
//	key  HEAD             states, counts and newest log entries of a batch    outcome     outcome, send, query, feed
//	key  LOG#sequence     older log entries                                   outcome     query, feed
//	key  TAPS             tapped suggestions and newest entries of their log  outcome     outcome, query, dashboard
//	key  TAPS#sequence    older entries of the log of taps                    outcome     query, privacy
//	key  CLICKS           clicked links and newest entries of their log       outcome     outcome, query, dashboard
//	key  CLICKS#sequence  older entries of the log of clicks                  outcome     query, privacy
//
// # Webhooks
//
//	pk                        sk                        row              written by        read by
//	W#delivery                DELIVERY#tenant#endpoint  delivery         outcome, webhook  webhook, sweep
//	FAILURES#tenant#endpoint  time#webhook              failed post      webhook           admin, dashboard
//	POSTS#tenant#endpoint     time#webhook              kept post        webhook           dashboard, privacy
//	STATS#tenant              hour                      counts of posts  webhook           dashboard
package dynamo
