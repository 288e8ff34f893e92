/** What lives only for the minutes of a sign-in: attempts, codes, mailed links, and the counters against guessing. */
import { index, pgTable, text } from '../drizzle.ts'
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
