/** What lives only for the minutes of a sign-in: attempts, codes, mailed links, and the counters against guessing. */
import { index, integer, pgTable, text } from '../drizzle.ts'
import { instant, secretHash } from './columns.ts'
import { sessions, users } from './identity.ts'

/** One walk to an identity provider and back; deleted when it returns, so a replayed state finds nothing. */
export const signInAttempts = pgTable(
  'sign_in_attempts',
  {
    stateHash: secretHash('state_hash').primaryKey(),
    provider: text('provider').notNull(),
    /** The cookie of the browser that began: another browser's callback is refused. */
    browserHash: secretHash('browser_hash').notNull(),
    nonce: text('nonce').notNull(),
    codeVerifier: text('code_verifier').notNull(),
    returnTo: text('return_to').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('sign_in_attempts_by_expiry').on(t.expiresAt)],
)

/** The single-use code a person takes back to the application. */
export const signInCodes = pgTable(
  'sign_in_codes',
  {
    codeHash: secretHash('code_hash').primaryKey(),
    sessionId: text('session_id')
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }),
    codeChallenge: text('code_challenge'),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('sign_in_codes_by_expiry').on(t.expiresAt)],
)

/** A login of the client that waits for its person: in the browser of the same machine, or by a code that they type. */
export const cliLogins = pgTable(
  'cli_logins',
  {
    /** Of the device code, or of what stands in the address of the page. */
    secretHash: secretHash('secret_hash').primaryKey(),
    /** Of the code that people type; null in the browser of the same machine. */
    userCodeHash: secretHash('user_code_hash').unique('cli_logins_by_user_code'),
    /** Where the browser takes the authorization code; null for a device. */
    redirectUri: text('redirect_uri'),
    state: text('state'),
    codeChallenge: text('code_challenge'),
    /** As the client says, unverified. */
    clientName: text('client_name').notNull(),
    hostName: text('host_name'),
    address: text('address').notNull(),
    /** The client asks no sooner than this long after it asked last. */
    intervalSeconds: integer('interval_seconds').notNull(),
    polledAt: instant('polled_at'),
    deniedAt: instant('denied_at'),
    /** Made when it was approved. */
    sessionId: text('session_id').references(() => sessions.id, { onDelete: 'cascade' }),
    authorizationCodeHash: secretHash('authorization_code_hash').unique('cli_logins_by_code'),
    usedAt: instant('used_at'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('cli_logins_by_expiry').on(t.expiresAt), index('cli_logins_by_session').on(t.sessionId)],
)

export const mailedLinks = pgTable(
  'mailed_links',
  {
    secretHash: secretHash('secret_hash').primaryKey(),
    purpose: text('purpose').$type<'verify-email' | 'reset-password' | 'operator-reset'>().notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('mailed_links_by_expiry').on(t.expiresAt)],
)

/**
 * A leaky bucket in one column: when the next unit would be free of debt. Rows, so that all processes count together. Not
 * indexed by that time, which every call changes: so Postgres updates the row in its page, without touching an index.
 */
export const throttles = pgTable('throttles', {
  key: text('key').primaryKey(),
  fullUntil: instant('full_until').notNull(),
})
