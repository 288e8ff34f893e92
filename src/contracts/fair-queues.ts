/**
 * What a process hands out in turns, whom by, and how many run and wait. A key without a number may have all that is free,
 * until others want it: whoever has the fewest running is next. docs/architecture.md names the mechanism.
 */

/** `network`: a /64, or an IPv4 address; `block` and `site`: the /56 and the /48 around it. */
type QueueKey = 'organization' | 'person' | 'app' | 'network' | 'block' | 'site'

export type QueueRules = {
  /** Turns go by the first, and among those of one by the next. */
  readonly keys: readonly QueueKey[]
  /** At a time, of each key and of all. */
  readonly running?: Caps
  /** Further ones are refused; where there are keys below, the newest of whoever has most gives way to one who has less. */
  readonly waiting?: Caps
  /** Left out: for as long as it takes. */
  readonly waitMs?: number
  /** Whoever has used the least time is next, where work takes very different times; otherwise each turn counts the same. */
  readonly byTime?: true
  readonly refusal?: {
    readonly full: string
    /** For who has waited too long; left out, the same. */
    readonly late?: string
    readonly retryAfterSeconds?: number
  }
}

/** Of turns that count the same: those by time need a clock. */
export type CountedRules = QueueRules & { readonly byTime?: never }

type Caps = Readonly<Partial<Record<'all' | QueueKey, number>>>

/** Requests that wait for something to happen: each costs the process a timer, and a connection of its client. */
const waits = (organization: number, full: string, retryAfterSeconds?: number) =>
  ({
    keys: ['organization'],
    running: { organization },
    waiting: { organization: 0 },
    refusal: { full, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  }) as const

const clusterQuestions = (all: number, organization: number) =>
  ({ keys: ['organization'], running: { all, organization }, waiting: { all: 0 } }) as const

const archivesRefused = {
  full: 'Too many archives and comparisons of this organization at once; try again later',
  late: 'Too many archives and comparisons at the moment; try again later',
  retryAfterSeconds: 5,
} as const

const uploadsRefused = { full: 'Too many files are being uploaded', retryAfterSeconds: 5 } as const

/** How many requests wait in a process, of each of the two kinds; they are in memory meanwhile. */
const REQUESTS_WAITING = 4_096

export const FAIR_QUEUES = {
  /**
   * Requests whose credential was validated before. An address has no share of its own, because nobody knows what it stands
   * for: a person, an office, or everybody behind a proxy that is not in TRUSTED_PROXIES.
   */
  validatedRequests: {
    keys: ['site', 'block', 'network', 'person'],
    running: { all: 32 },
    waiting: { all: REQUESTS_WAITING },
    waitMs: 15_000,
  },
  /** Without a credential, or with one that nobody has looked at yet: anybody can make up thousands. */
  unvalidatedRequests: {
    keys: ['site', 'block', 'network'],
    running: { all: 16, site: 8, block: 6, network: 4 },
    waiting: { all: REQUESTS_WAITING },
    waitMs: 15_000,
  },
  /**
   * Calls of assistants, once it is known whose they are. Of one person fewer run than a credential may have open, so that
   * neither an agent that calls in parallel nor many of them delay another person's; and as many wait as four credentials may
   * have open.
   */
  mcpCalls: {
    keys: ['person'],
    running: { all: 32, person: 2 },
    waiting: { all: REQUESTS_WAITING, person: 64 },
    waitMs: 15_000,
    refusal: { full: 'Too many calls; try again later', retryAfterSeconds: 1 },
  },
  /** Calls of the embeddings endpoint. */
  embeddingCalls: {
    keys: ['organization', 'person'],
    running: { organization: 4 },
    waiting: { organization: 8 },
    waitMs: 10_000,
    refusal: { full: 'Too many calls of the organization wait for embeddings' },
  },
  /** A few texts in bulk, at one model. */
  embeddingBatches: { keys: ['organization'], running: { all: 8, organization: 2 } },
  /** Texts that wait for the built-in model: 16 of the longest take one thread 5 s, about as long as anybody waits. */
  builtInQuestions: { keys: ['organization'], waiting: { all: 128, organization: 16 } },
  /** One call of the embeddings endpoint has up to 256. */
  builtInBulk: { keys: ['organization'], waiting: { all: 4_096, organization: 256 } },
  /** Calls of evals, of many questions each, one question at a time: those who ask do not wait behind them. */
  evals: {
    keys: ['organization', 'person'],
    running: { all: 2, organization: 1 },
    waiting: { organization: 8 },
    waitMs: 15_000,
    refusal: {
      full: 'Too many evals of the organization wait already',
      late: 'Other evals are not done yet',
    },
  },
  /**
   * Searches in logs, each of which may read millions of lines: fewer than the process has connections to the database.
   * Who waits does so for longer than one may take.
   */
  logSearches: {
    keys: ['organization', 'person'],
    running: { all: 3, organization: 2 },
    waiting: { organization: 8 },
    waitMs: 12_000,
    refusal: { full: 'Too many logs are searched at once' },
  },
  /** Of maintenance runs. Together with the search itself within the time that an agent runner waits for an answer. */
  runLogSearches: {
    keys: ['organization', 'app'],
    running: { all: 2, organization: 1 },
    waiting: { organization: 8 },
    waitMs: 15_000,
    refusal: { full: 'Too many logs are searched at once' },
  },
  /** Searches of maintenance runs in source, each of which may read all of it, for five seconds at most. */
  sourceSearches: {
    keys: ['organization', 'app'],
    running: { all: 2, organization: 1 },
    waiting: { organization: 8 },
    waitMs: 15_000,
    refusal: { full: 'Too much source is searched at once' },
  },
  /** Checks that read lines for a model, which is work for the database. */
  evidenceReaders: { keys: ['organization', 'app'], running: { all: 4, organization: 1 } },
  /** Each holds an archive and what is in it, and the thread a copy of both while it reads: about 240 MiB at most. */
  archives: {
    keys: ['organization'],
    running: { all: 2, organization: 1 },
    waiting: { organization: 4 },
    waitMs: 20_000,
    byTime: true,
    refusal: archivesRefused,
  },
  /** Tasks of the source thread: one file, or the reading of one archive. */
  sourceTasks: {
    keys: ['organization'],
    running: { all: 1, organization: 1 },
    waiting: { organization: 64 },
    waitMs: 20_000,
    byTime: true,
    refusal: archivesRefused,
  },
  /** Lines of logs and of source that an expression is looked for in: one that is slow costs nobody else the time of its task. */
  lineMatches: { keys: ['organization'], running: { all: 1, organization: 1 }, byTime: true },
  /** Files that become passages, one at a time: most take milliseconds, and some seconds. */
  documents: { keys: ['organization'], running: { all: 1, organization: 1 }, byTime: true },
  /** Looks at workbooks and Parquet files before they are loaded: each holds a whole one, and the process that reads it a copy. */
  tablePreviews: {
    keys: ['organization', 'person'],
    running: { all: 2, organization: 1 },
    waiting: { organization: 4 },
    waitMs: 20_000,
    byTime: true,
    refusal: { full: 'Too many files of this kind are looked at; try again later', retryAfterSeconds: 5 },
  },
  /** Forms with a file, which the process holds as a whole. */
  consoleUploads: {
    keys: ['organization'],
    running: { all: 4, organization: 2 },
    waiting: { organization: 0 },
    refusal: uploadsRefused,
  },
  /** Of a person one, in however many organizations. */
  consoleUploaders: {
    keys: ['person'],
    running: { person: 1 },
    waiting: { person: 0 },
    refusal: uploadsRefused,
  },
  /**
   * Questions to the cluster. None takes from another: forged tokens keep nobody waiting whose token was accepted before, and
   * whoever binds service accounts keeps no pod waiting.
   */
  clusterAcceptedBefore: clusterQuestions(32, 8),
  clusterNewcomers: clusterQuestions(24, 8),
  clusterAccounts: clusterQuestions(16, 5),
  logWaits: waits(20, 'Too many requests of your organization wait for log lines'),
  deploymentWaits: waits(50, 'Too many runners of this organization wait already'),
  maintenanceWaits: waits(50, 'Too many requests of this organization wait for maintenance runs already'),
  pipelineWaits: waits(50, 'Too many workers of your organization wait for runs here', 10),
  deliveryWaits: waits(20, 'Too many requests of this organization wait for deliveries already'),
  /** Pages that are told of changes: one of a browser, as a rule. Each costs a connection and a look at its rights now and then. */
  changeWaits: {
    keys: ['organization', 'person'],
    running: { all: 2_000, organization: 500, person: 8 },
    waiting: { organization: 0 },
    refusal: { full: 'Too many pages wait for changes already', retryAfterSeconds: 60 },
  },
  receiptWaits: waits(20, 'Too many requests of this organization wait for receipts already'),
} as const satisfies Readonly<Record<string, QueueRules>>
