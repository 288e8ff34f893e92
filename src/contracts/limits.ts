/** Limits that are part of the contract, each with its origin. */
import { CREDENTIAL_KINDS } from './credential-kinds.ts'

/** Of any request body; the largest real one (a search configuration) is a few kilobytes. */
export const BODY_MAX_BYTES = 256 * 1024

/** Longer than any token of ours: nothing larger is hashed or parsed. */
export const BEARER_MAX = 8192

/** Rows in a page of a list. */
export const PAGE_DEFAULT = 50
export const PAGE_MAX = 200
/** In a file that is exported: as many as spreadsheets open, and a few minutes of reading pages. */
export const EXPORT_ROWS_MAX = 100_000
/** What an agent has not used for so long is suggested to be taken from it. */
export const UNUSED_DAYS = 30
/** Of the settings by which it is taken by itself, and how long before its person is told. */
export const UNUSED_AFTER_DAYS = { min: 14, max: 365 }
export const UNUSED_NOTICE_DAYS = 7
/** In a summary of activity. */
export const AGENTS_TOLD_MAX = 100
/** Rows of a list that are counted at most: nobody pages further, and counting millions would cost more than reading them. */
export const COUNT_MAX = 10_000

/** decisions: "a single-use 60-second code" is what a person returns with after sign-in. */
export const SIGN_IN_CODE_SECONDS = 60
/** Time to sign in at an identity provider, second factor included. */
export const SIGN_IN_ATTEMPT_SECONDS = 10 * 60

/** A user JWT; the console rotates its own long before. */
export const USER_TOKEN_SECONDS = 12 * 60 * 60
export const SESSION_SECONDS = 30 * 24 * 60 * 60
/** Tabs that still use the previous token are not an attack. */
export const SESSION_ROTATION_GRACE_SECONDS = 60

/** A login of the client waits so long for its person (RFC 8628, 6.1: minutes), and may ask this often. */
export const CLI_LOGIN = { seconds: 10 * 60, pollSeconds: 2, codeSeconds: 60 }
/** Of a /64 or an IPv4 address, and of the /56 and the /48 around it. */
export const CLI_LOGINS_PER_NETWORK = { network: 20, block: 30, site: 40, seconds: 10 * 60 }
/** Codes that people type have 34 bits: with these, guessing one of a hundred that wait takes a network decades. */
export const CLI_CODE_TRIES_PER_PERSON = { count: 10, seconds: 15 * 60 }
export const CLI_CODE_TRIES_PER_NETWORK = { count: 50, seconds: 15 * 60 }
export const CLI_FAILURES_PER_NETWORK = { count: 60, seconds: 60 }
/** Then the person signs in again; an access token is renewed every hour. */
export const CLI_SESSION_SECONDS = 90 * 24 * 60 * 60
export const CLI_ACCESS_TOKEN_SECONDS = 60 * 60

/** contract, Limits: dynamic client registration, at most 100 active, 5 per origin, 30 days; decisions: 20 per address. */
export const DYNAMIC_CLIENTS = {
  active: 100,
  perOrigin: 5,
  /** Of a /64 or an IPv4 address, and of the /56 and the /48 around it. */
  perAddress: 20,
  perBlock: 30,
  perSite: 40,
  seconds: 30 * 24 * 60 * 60,
}
/** decisions: one without a live grant gives way after ten minutes. */
export const DYNAMIC_CLIENT_UNUSED_SECONDS = 10 * 60

/** A secret that opened nothing is refused again for so long, without being looked for. */
export const UNKNOWN_CREDENTIAL_SECONDS = 5

/** Of the public cards of the MCP endpoints, of an address in one process; readers may keep them for an hour. */
export const SERVER_CARDS_PER_ADDRESS = { count: 120, seconds: 60 }
export const SERVER_CARD_CACHE_SECONDS = 60 * 60

/** How long the operator's page stays open after the token was entered, and how often a wrong one may be. */
export const OPERATOR_PAGE_SECONDS = 15 * 60
export const OPERATOR_TOKEN_FAILURES_PER_ADDRESS = { count: 10, seconds: 15 * 60 }

/** decisions, section 4: lifetimes of the connector. */
export const CONNECTOR_SECONDS = {
  code: 60,
  consent: 10 * 60,
  accessToken: 60 * 60,
  refreshToken: 30 * 24 * 60 * 60,
  grant: 365 * 24 * 60 * 60,
}

/** How long a machine agent lives without somebody who says that it is still needed. */
export const MACHINE_AGENT_DAYS = 365
export const MACHINE_AGENTS_MAX = 100
/** Two of a kind: the old one and the new one while it is rotated. */
export const MACHINE_AGENT_CREDENTIALS_PER_KIND = 2
/** No refresh token: it asks again with its credential. */
export const MACHINE_AGENT_TOKEN_SECONDS = 15 * 60

/** What came in by an identity provider ends this long after its last exchange. */
export const ENTERPRISE_GRANT_SECONDS = 30 * 24 * 60 * 60
/** As for refresh tokens: for so long the same client may show the same assertion again. */
export const ASSERTION_GRACE_SECONDS = 60

/** Of the identity provider of an organization. Assertions of more than ten minutes would outlive a removal for too long. */
export const IDENTITY_PROVIDER = {
  rules: 100,
  clients: 200,
  /** What an organization can make us fetch. */
  fetches: { count: 60, seconds: 10 * 60 },
  assertionSeconds: { min: 30, max: 600, default: 600 },
  tokenMinutes: { min: 5, max: 60, default: 15 },
}

/** Of a check: what may be asked for, how often, and how much of it counts. */
export const CHECK = {
  intervalSeconds: { min: 30, max: 24 * 60 * 60 },
  /** Results in a row. */
  threshold: { min: 1, max: 20 },
  timeoutMs: { min: 100, max: 30_000 },
  windowMinutes: { min: 1, max: 24 * 60 },
  maxCount: { min: 0, max: 1_000_000 },
  maxTokens: { min: 500, max: 50_000 },
}

/** decisions: a metadata document is read within 2.5 s and 5 KB. */
export const METADATA_DOCUMENT = { bytes: 5 * 1024, ms: 2_500 }
/** That of a client that comes in by an identity provider is read daily; one that could not be for so long is not used. */
export const METADATA_DOCUMENT_DAYS = 7

/**
 * A process without a database writes for somebody only so long after it last asked a service that has one. Longer than a call
 * may take.
 */
export const REMOTE_ANSWER_SECONDS = 45

/** decisions: actor assertion 60 s. */
export const ACTOR_ASSERTION_SECONDS = 60
/** decisions, 1: with hosted auth, a person is sent things only if validated within this time. */
export const VALIDATION_CURRENT_SECONDS = 24 * 60 * 60

export const INVITATION_SECONDS = 7 * 24 * 60 * 60
export const MAIL_LINK_SECONDS = 60 * 60

/** NIST SP 800-63B-4, 3.1.1.2: 15 where the password is the only factor; the upper bound keeps megabytes from argon2. */
export const PASSWORD_MIN = 15
export const PASSWORD_MAX = 256

/** Wrong passwords for one address, and from one network address, before both must wait. */
export const SIGN_IN_FAILURES_PER_EMAIL = { count: 10, seconds: 15 * 60 }
export const SIGN_IN_FAILURES_PER_ADDRESS = { count: 50, seconds: 15 * 60 }
/** decisions: a single-use link of 30 minutes that the operator hands over. */
export const OPERATOR_LINK_SECONDS = 30 * 60
/**
 * Mails that anybody can make us send to one address. Each kind (reset, verification, invitation) has a bucket of its own:
 * invitations that somebody else sends must not use up the resets of a person.
 */
export const MAILS_PER_ADDRESS = { count: 5, seconds: 60 * 60 }
/** Verification mails to addresses that an organization connects, whatever addresses those are; and how long a link works. */
export const ADDRESS_VERIFICATIONS_PER_ORGANIZATION = { count: 20, seconds: 60 * 60 }
/** Each is an event, a delivery and a POST or a mail to somebody else, with its retries. */
export const DELIVERY_TESTS_PER_ORGANIZATION = { count: 60, seconds: 60 * 60 }
export const ADDRESS_VERIFICATION_SECONDS = 24 * 60 * 60
/** Verification mails of one account, to whatever addresses it names. */
export const VERIFICATIONS_PER_PERSON = { count: 10, seconds: 60 * 60 }
/** decisions: invitations are limited per person and per organization; larger teams join by their email domain. */
export const INVITATIONS_PER_PERSON = { count: 50, seconds: 24 * 60 * 60 }
export const INVITATIONS_PER_ORGANIZATION = { count: 200, seconds: 24 * 60 * 60 }

export const TOKENS_PER_PERSON = 100
export const IDEMPOTENCY_KEY_SECONDS = 24 * 60 * 60

/** contract, Limits: hits per question. */
export const HITS_MAX = 20
export const HITS_DEFAULT = 10
/** contract, Limits: a longer answer is cut (long values first, then last hits). */
export const ANSWER_MAX_BYTES = 16 * 1024
/** contract, Limits: counted per organization. */
export const EXPOSED_MAX = 100
/** The built-in model reads 256 tokens. */
export const QUESTION_MAX_CHARACTERS = 4_000
/** Values one filter may name; the statement carries them as one array. */
export const FILTER_VALUES_MAX = 1_000
/** Searchable tables of one source, each of which every untargeted question asks. */
export const ENTRIES_MAX = 50
/**
 * Of an eval: questions, rows that one of them expects, questions of one call, how long a call goes on asking, and evals that
 * are kept of a source. Its questions are counted by themselves, so that an eval takes none from those who ask.
 */
export const EVAL = { questions: 200, expected: 20, perCall: 20, callMs: 5_000, kept: 200 }
export const EVAL_QUESTIONS_PER_ORGANIZATION = { count: 5_000, seconds: 24 * 60 * 60 }
/** Fewer, so that one person leaves some to the others. */
export const EVAL_QUESTIONS_PER_PERSON = { count: 2_000, seconds: 24 * 60 * 60 }
/** Hits of a question of an eval: expected rows are looked for among these, and recall among the first. */
export const EVAL_HITS = { searched: 10, recall: 5 }
/** Questions whose answer was found, without which a threshold would be a guess. */
export const THRESHOLD_QUESTIONS_MIN = 5
/** Of an organization. */
export const TRAIL_STREAMS_MAX = 20
/** Of an organization, and members of each. */
export const GROUPS_MAX = 1_000
export const GROUP_MEMBERS_MAX = 5_000
/** Of one SCIM bearer. Entra asks for 25 a second; a first sync of thousands must not take hours. */
export const SCIM_CALLS = { count: 6_000, seconds: 60 }
/** A group of 5,000 with a name for each. */
export const SCIM_BODY_MAX_BYTES = 1024 * 1024
/** What a filter or the path of a change may be; those of directories have two terms. */
export const SCIM_FILTER = { characters: 1_000, depth: 8 }
/** Of one request: some directories send one for each member. */
export const SCIM_OPERATIONS_MAX = 1_000
/** Of all groups in one answer; a group alone has fewer. */
export const SCIM_PAGE_MEMBERS_MAX = 10_000
/** Of one organization. */
export const PROVISIONED_PEOPLE_MAX = 50_000
/** Longer than a vector search takes, shorter than the time-outs of assistants. */
export const QUESTION_STATEMENT_MS = 10_000
/** How long a found row can be fetched by its handle. */
export const HANDLE_SECONDS = 24 * 60 * 60
/** Managed databases of one organization: each is a folder or a database of its own. */
export const DATABASES_MAX = 200
/** Integrations of one organization: their list has no pages. */
export const INTEGRATIONS_MAX = 100

/**
 * Posts of one process whose attempt is committed and whose outcome is not: as many as it can hold. Each may have a body
 * and an answer of 64 KiB and the buffers of a TLS socket, and all of them a sixteenth of the heap; never fewer
 * than twice what one organization can have integrations. A kill leaves at most so many unconfirmed, and at most two of
 * each target.
 */
export const IN_FLIGHT = { bytes: 256 * 1024, ofHeap: 1 / 16, min: 256, max: 1_024 }
export const inFlightMaxOf = (heapBytes: number): number =>
  Math.min(
    IN_FLIGHT.max,
    Math.max(IN_FLIGHT.min, Math.floor((heapBytes * IN_FLIGHT.ofHeap) / IN_FLIGHT.bytes)),
  )
/**
 * Claimed at once; and what a process holds of one organization by one channel, or for one server that all of them share,
 * for when a slot is free. A claim without an attempt is safe to repeat.
 */
export const CLAIM = { rows: 128, perLane: 32, leaseSeconds: 60 }
/**
 * decisions, 11: in flight to one target, over all workers; the share of a process's slots that one organization gets while
 * others have work; and the share of those that its slow targets have together. Slow is a target that did not answer the
 * last time, has not answered for `slowMs`, or takes longer than that and so many times what its fellows take.
 */
export const LANES = { perTarget: 2, share: 1 / 4, slow: 1 / 4, slowMs: 1_000, slowTimes: 4 }
/**
 * decisions, 11: after so many attempts in a row without an answer a target is probed, one message at a time. The wait
 * between two probes doubles from the first to the longest: each probe that hangs leaves a message unconfirmed.
 */
export const CIRCUIT = { unanswered: 3, probeSeconds: 10, probeMaxSeconds: 300 }
/** Longer than any channel waits for an answer. After it the answer counts as lost. */
export const ATTEMPT_LEASE_SECONDS = 120
/**
 * A recovery queues so many deliveries at a time, of so many it looks at, and goes on when fewer than `open` messages wait
 * for the target: what happens meanwhile waits behind these and no more, and nobody else behind any.
 */
export const RECOVERY = { batch: 100, scanned: 5_000, open: 200, everySeconds: 1, pausedSeconds: 60 }
/** Events that are fanned out at once: a newcomer's waits for no more than these. */
export const FAN_OUT_EVENTS = 50
/** Deliveries in one transaction, so that it stays short. */
export const FAN_OUT_PAGE = 10_000
/** An endpoint that failed for so long without a success is stopped, and owners and admins are notified. */
export const ENDPOINT_DEAD_DAYS = 5
/** Lines of a digest in chat and mail: what the strictest chat service takes in one message. A longer one is split. */
export const DIGEST_LINES = 20
/** Of a mail with notices to an admin: more destinations than an organization has. */
export const NOTICES_MAX = 1_000

/** More than an app has programs that report. */
export const TOKENS_PER_APP = 50
/** How long a rotated-out value of a token still works. */
export const ROTATION_HOURS = { max: 7 * 24, default: 24 }
/** Exporters send every few seconds; a hundred processes may share one token. */
export const APP_TOKEN_CALLS = { count: 3_000, seconds: 60 }

/** As many as an app has clusters and stages. */
export const WORKLOAD_BINDINGS_PER_APP = 50
/** As of an app token: all pods of a service account share them. */
export const WORKLOAD_CALLS = { count: 3_000, seconds: 60 }
/** Of a binding, the pods that came in last. */
export const WORKLOAD_PODS_KEPT = 20
/** decisions, 15: how long what the cluster said about a token counts, yes and no. */
export const TOKEN_REVIEW_SECONDS = {
  accepted: CREDENTIAL_KINDS.workload.rememberedSeconds,
  refused: 5,
}
/**
 * How long the cluster may take to answer: longer than it does, shorter than workers wait. And how many answers a process
 * remembers, of yes and of no each.
 */
export const TOKEN_REVIEWS = { seconds: 3, remembered: 10_000 }
/** Of one binding, from one network: pods that are refused ask again every few seconds, and somebody who guesses more often. */
export const REFUSED_WORKLOAD_TOKENS = { count: 20, seconds: 60 }
/** Of one organization: more than a script binds. */
export const SERVICE_ACCOUNT_READS = { count: 100, seconds: 60 }

/** decisions, 13: a revision of an app's source. */
export const SOURCE_MAX_BYTES = 50 * 1024 * 1024
export const SOURCE_FILE_MAX_BYTES = 1024 * 1024
/** Far more than a source tree has, and few enough to be listed and compared in memory. */
export const SOURCE_FILES_MAX = 10_000
export const SOURCE_PATH_MAX_BYTES = 1_000
/** A runner that is not heard from for so long is lost; it reports several times in between. */
export const DEPLOYMENT_LEASE_SECONDS = 60
/** Of what a git host says when it calls: svc looks itself, so nothing of it is needed. */
export const REMOTE_CALL_MAX_BYTES = 1024 * 1024
/** decisions, 13: a deployment that no runner claims fails after so long, and a rollout may be reported as broken for so long. */
export const DEPLOYMENT_UNCLAIMED_SECONDS = 24 * 60 * 60
export const ROLLOUT_REPORT_SECONDS = 24 * 60 * 60
/** Shorter than services wait for each other. */
export const DEPLOYMENT_WAIT_MAX_SECONDS = 15
/** As every wait, shorter than a process that stops has for what it has begun (STOP_SECONDS). */
export const PIPELINE_WAIT_MAX_SECONDS = 20
/** Of one app: more of them are a mistake of whoever makes them. */
export const DEPLOYMENTS_QUEUED_MAX = 50
/** Of the output of one deployment its beginning and its end are kept: how it began, and what went wrong. */
export const DEPLOYMENT_OUTPUT = { headBytes: 256 * 1024, tailBytes: 768 * 1024, days: 90 }
/** Deeper than people nest folders, and few enough that ten thousand paths are compared at once. */
export const SOURCE_FOLDERS_MAX = 40
/**
 * What is kept of an app's source: so many of the newest revisions, and as many of those that were last deployed with
 * success; fewer where an organization uses more than such a part of its storage. Files that no revision has named for so
 * long are deleted; after the first half they count as missing already, so that whoever asks has the other half to push.
 */
export const SOURCE_RETENTION = { revisions: 100, scarceRevisions: 10, scarceAbove: 0.75, unnamedHours: 24 }
/** Characters of what somebody writes beside a decision. */
export const DECISION_NOTE_MAX = 500
/** Of a comparison: what is longer is cut, and says so. */
export const DIFF_MAX_BYTES = 1024 * 1024
/** Files that a comparison names; more are counted. */
export const DIFF_FILES_MAX = 1_000
/** decisions, 13: one request of logs, after inflation. */
export const LOGS_MAX_BYTES = 20 * 1024 * 1024
/** Exporters send 512 records at once, collectors 8,192. */
export const LOG_LINES_PER_REQUEST = 50_000
/** Of one line, in characters: the longest stack traces are shorter. What is longer is cut. */
export const LOG_LINE_MAX = 16 * 1024
/** decisions, 13. */
export const LOG_DAYS = 7
/** Of one app. Lines of further groups are counted together. */
export const LOG_GROUPS_MAX = 5_000
/** In place of the template of lines that were logged when there were so many. */
export const OTHER_LINES = '(other lines)'
/** How long a request may wait for lines, below every deadline. */
export const LOG_WAIT_SECONDS = 20
/** Of one search. */
export const LOG_SEARCH_SECONDS = 10
/** A standby that is further behind is not asked, and whoever changed something within that time asks the database itself. */
export const OLD_READ_SECONDS = 30
/**
 * decisions, 11: notifications in one POST of a webhook. Those that have waited so long for their target go together; what
 * just happened goes alone, so that a lost answer leaves one unconfirmed and not a hundred.
 */
export const WEBHOOK_POST = { objects: 100, waitedSeconds: 5 }
/** decisions, 11: of an answer so much is kept, for so many days; read is a little more, because masking makes it shorter. */
export const RESPONSE_EXCERPT = { bytes: 1024, readBytes: 4096, days: 7 }
/** Pipelines of one app, workers of one app that are remembered, and runs of one pipeline that wait or are kept. */
export const PIPELINES_PER_APP = 100
export const PIPELINE_WORKERS_PER_APP = 100
export const PIPELINE_RUNS = { waiting: 10, kept: 1_000 }
/** A worker calls within this time, or its run is taken for lost. */
export const PIPELINE_LEASE_SECONDS = 60
/** A worker that was heard from within this time is connected: longer than a claim waits, and than a restart takes. */
export const PIPELINE_PRESENCE_SECONDS = 60
/** decisions, 14. */
export const MAINTENANCE = {
  nightlyCron: '0 3 * * *',
  timezone: 'UTC',
  cooldownHours: 24,
  tokenAllowance: 200_000,
  tokenAllowanceMax: 1_000_000_000,
  protectedPathsMax: 100,
}
/** A run whose agent runner is not heard from for so long is lost; it calls several times in between. */
export const MAINTENANCE_LEASE_SECONDS = 60
/** decisions, 14: after downtime the newest missed time is made up for so long; a run that nobody starts waits as long. */
export const MAINTENANCE_LATE_SECONDS = 6 * 60 * 60
/** How long a request may wait for a run to change. */
export const MAINTENANCE_WAIT_MAX_SECONDS = 20
/** How long a request may wait for an attempt to end. */
export const DELIVERY_WAIT_MAX_SECONDS = 20
/** References in the answer about a run: three findings and a proposal cite at most 80. */
export const RUN_EVIDENCE_SHOWN = 200
/** Runs of one app that people may start or have skipped: each is kept for good. */
export const MAINTENANCE_STARTS_PER_APP = { count: 100, seconds: 60 * 60 }
/** How long it is remembered which scheduled times there were, and what a run read and said (decisions, 14). */
export const MAINTENANCE_SLOT_DAYS = 90
export const MAINTENANCE_TRANSCRIPT_DAYS = 30
/** decisions, 5: one call of the embeddings endpoint. */
export const EMBEDDINGS_MAX_TEXTS = 256
export const EMBEDDINGS_MAX_BYTES = 1024 * 1024
/**
 * The file of a load, and a part of it in one request: every part is read into memory, and lies in one row of the managed
 * database until the load has ended.
 */
export const LOAD_MAX_BYTES = 256 * 1024 * 1024
export const LOAD_PART_BYTES = 1024 * 1024
/** Of each part but the last: of smaller ones there would be too many to be read at once. */
export const LOAD_PART_MIN_BYTES = 1024
/** What a browser may upload at once: the console reads a form as a whole. */
export const LOAD_FORM_BYTES = 16 * 1024 * 1024
/** A workbook or a Parquet file, which is read as a whole, and the text of its rows. */
export const LOAD_TABLE_BYTES = 32 * 1024 * 1024
export const LOAD_TABLE_TEXT_BYTES = 64 * 1024 * 1024
/** One row of a file: less than full text search holds of one (1 MB), and a quote that does not end is found soon. */
export const LOAD_RECORD_BYTES = 256 * 1024
/** A wider table is no table to ask, and each column takes part in every statement. */
export const LOAD_COLUMNS_MAX = 100
export const LOAD_COLUMN_NAME_CHARACTERS = 200
/** An index of Postgres takes keys of 2,704 bytes. */
export const LOAD_ID_CHARACTERS = 200
/** Problems of a file that are listed; all are counted. */
export const LOAD_PROBLEMS_SHOWN = 100
/** Of one organization: loads that are being uploaded or run. */
export const LOADS_UNFINISHED_MAX = 10
/** One person leaves places to the others. */
export const LOADS_UNFINISHED_PER_PERSON = 6
/** A step of a load that is not heard from for so long is taken over; its process says so several times in between. */
export const LOAD_LEASE_SECONDS = 30
/** An upload that stopped, a model or a database that is away: given up after so long. */
export const LOAD_GIVE_UP_SECONDS = 24 * 60 * 60
/** One statement of a step of a load, unless it goes over very many rows. */
export const SHORT_STATEMENT_MS = 60_000
/** How long the row of a load that has ended is kept. */
/** A load that changed a table can be undone for so long. */
export const LOAD_UNDO_DAYS = 7
export const LOAD_DAYS = 90
/** Of a documents source: files, and bytes of one of them, and of all that one sync sends. */
export const DOCUMENTS_MAX = 20_000
export const DOCUMENT_MAX_BYTES = 32 * 1024 * 1024
export const DOCUMENTS_SYNC_MAX_BYTES = 1024 * 1024 * 1024
/** As many files, each with its digest and a path of ordinary length. */
export const DOCUMENTS_MANIFEST_MAX_BYTES = 8 * 1024 * 1024
export const DOCUMENT_PATH_MAX_BYTES = 1_000
/** What is read of one file: more is a database that somebody printed. */
export const DOCUMENT_TEXT_MAX_CHARACTERS = 4 * 1024 * 1024
export const DOCUMENT_PASSAGES_MAX = 20_000
/** Of a PDF file. */
export const DOCUMENT_PAGES_MAX = 2_000
/** What the built-in model reads of a text, with its headings and its own two tokens. */
export const PASSAGE_TOKENS = 256
/** Files that were left out, in an answer; all are counted. */
export const DOCUMENTS_LEFT_OUT_SHOWN = 100
/** Outermost folders of a documents source, in an answer. */
export const DOCUMENTS_FOLDERS_SHOWN = 1_000
/** Values that a document, or a folder of them, names as who sees it. */
export const DOCUMENT_ACCESS_MAX = 100
/** How long the version before can be brought back. */
export const DOCUMENTS_UNDO_DAYS = 7
/** A sync that has sent nothing for so long makes way for the next one. */
export const DOCUMENTS_SYNC_IDLE_SECONDS = 60
