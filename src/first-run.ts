/**
 * The first start: an owner, an organization and a token, said once. Killed at any moment it begins again where it
 * stood: what will be said is written down (0600) before it comes true, and thrown away after it was said. Of several
 * processes that start together only the one that made the owner writes anything down.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from '../db/drizzle.ts'
import * as z from 'zod'
import type { Transaction } from '../db/connect.ts'
import { installationFacts, passwords } from '../db/schema.ts'
import type { AuthNeeds } from '../oauth/needs.ts'
import type { Config } from './config.ts'
import type { Caller } from './contracts/operation.ts'
import { insertUser, keepToken } from './cores/identity/index.ts'
import { foundOrganization } from './cores/organizations/index.ts'
import { withTransaction } from './cores/transaction.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE, wantSample } from './sample.ts'
import { writePrivately } from './secrets.ts'
import { makeApiToken } from './trust/api-token.ts'

const Plan = z.object({
  id: z.string(),
  email: z.string(),
  password: z.string().nullable(),
  token: z.string().nullable(),
  tokenDays: z.int(),
})
type Plan = z.output<typeof Plan>

export type FirstRun = {
  readonly config: Config
  readonly auth: AuthNeeds
  readonly terminal: boolean
  /** Whether a newcomer gets something to ask. */
  readonly sample: boolean
}

/** What to say; `wereSaid` is called afterwards, because only then may they be forgotten. */
export type FirstWords = { readonly lines: string[]; readonly wereSaid: () => Promise<void> }

/** Nothing when this is not the first start. */
export async function firstRun(run: FirstRun): Promise<FirstWords | undefined> {
  const done = await planThatCameTrue(run.auth)
  if (done !== undefined) {
    const unsaid = await readPlan(run)
    if (unsaid?.id === done) return wordsFor(run, unsaid)
    // It was killed before it came true, and then another one did.
    if (unsaid) await forgetPlan(run)
    return undefined
  }
  const plan = makePlan(run)
  const password = plan.password ?? run.config.SVC_ADMIN_PASSWORD
  const hash = password === undefined ? undefined : await run.auth.passwords.hash(password)
  const isOurs = await withTransaction(run.auth.db, (tx) => settle(tx, run, plan, hash))
  return isOurs ? wordsFor(run, plan) : undefined
}

async function planThatCameTrue({ db }: AuthNeeds): Promise<string | undefined> {
  const [fact] = await db.select().from(installationFacts).where(eq(installationFacts.name, 'first-run'))
  return fact && Fact.parse(fact.value).plan
}

const Fact = z.object({ at: z.string(), plan: z.string() })

function makePlan({ config, auth, terminal }: FirstRun): Plan {
  const given = config.SVC_ADMIN_PASSWORD !== undefined
  return {
    id: randomBytes(16).toString('hex'),
    email: config.SVC_ADMIN_EMAIL ?? 'owner@svc.localhost',
    // Where people sign in through a provider only, a password would open nothing; the token invites the first of them.
    password: given || !auth.passwordSignIn ? null : readablePassword(),
    // Somebody who chose the password themselves and looks at no terminal has no use for a secret in a file.
    token: given && !terminal ? null : makeApiToken(),
    // In a file it may lie for long.
    tokenDays: terminal ? 30 : 1,
  }
}

/** 100 bits in groups of five: can be read over a shoulder, not guessed. */
function readablePassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  let password = ''
  while (password.length < 20) {
    for (const byte of randomBytes(40)) {
      // 248 = 8 * 31, so that no letter is likelier than another.
      if (byte < 248 && password.length < 20) password += letters[byte % letters.length]
    }
  }
  return password.match(/.{5}/g)!.join('-')
}

async function settle(
  tx: Transaction,
  run: FirstRun,
  plan: Plan,
  hash: string | undefined,
): Promise<boolean> {
  const { auth, config } = run
  // Several replicas may start on an empty database at the same moment.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc first run', 0))`)
  const [fact] = await tx
    .insert(installationFacts)
    .values({
      name: 'first-run',
      value: { at: auth.clock().toISOString(), plan: plan.id } satisfies z.input<typeof Fact>,
    })
    .onConflictDoNothing()
    .returning()
  if (!fact) return false
  await writePlan(run, plan)
  const name = plan.email.split('@')[0]!
  const userId = await insertUser(tx, auth.clock, { email: plan.email, name })
  if (hash !== undefined) {
    await tx.insert(passwords).values({ userId, email: plan.email, hash, changedAt: auth.clock() })
  }
  const founder = founderOf(userId, name, plan.email)
  const org = await foundOrganization({ ...auth, db: tx })(founder, {
    name: config.SVC_ORG ?? (run.sample ? 'Sample organization' : 'My organization'),
  })
  if (run.sample) await wantSample(tx, { ...founder, orgId: org.id, role: 'owner' })
  if (plan.token !== null) {
    await keepToken(tx, auth, { ...founder, orgId: org.id }, plan.token, {
      name: 'First run',
      roleCap: 'owner',
      scopes: null,
      audiences: ['api', 'platform', 'notifications'],
      expiresAt: new Date(auth.clock().getTime() + plan.tokenDays * 24 * 60 * 60 * 1000),
    })
  }
  return true
}

const founderOf = (userId: string, name: string, email: string): Caller & { userId: string } => ({
  kind: 'user',
  userId,
  userName: name,
  userEmail: email,
  orgId: null,
  organization: null,
  role: null,
  scopes: null,
  audiences: [],
  sources: null,
  expiresAt: null,
  door: 'api',
  address: 'here',
  requestId: 'first-run',
})

const planFile = ({ config }: FirstRun): string => join(config.SVC_DATA_DIR, 'first-run.json')

async function readPlan(run: FirstRun): Promise<Plan | undefined> {
  try {
    return Plan.parse(JSON.parse(await readFile(planFile(run), 'utf8')))
  } catch {
    return undefined
  }
}

async function writePlan(run: FirstRun, plan: Plan): Promise<void> {
  if (plan.password === null && plan.token === null) return
  await mkdir(run.config.SVC_DATA_DIR, { recursive: true, mode: 0o700 })
  await writePrivately(planFile(run), JSON.stringify(plan))
}

/** With what a killed process left half written of it. */
async function forgetPlan({ config }: FirstRun): Promise<void> {
  const folder = config.SVC_DATA_DIR
  const names = await readdir(folder).catch(() => [])
  const ours = names.filter((name) => name === 'first-run.json' || /^first-run\..*\.partial/.test(name))
  await Promise.all(ours.map((name) => rm(join(folder, name), { force: true })))
}

/**
 * Installed, `svc` is on the path. In a checkout npx finds it, and `--no` keeps npx from fetching a stranger's package of
 * that name where somebody runs the line, with the token in it, in another folder.
 */
const CLIENT = /[\\/]node_modules[\\/]/.test(import.meta.dirname) ? 'svc' : 'npx --no -- svc'

const logIn = ({ config }: FirstRun, token: string): string =>
  `${CLIENT} login --api-url ${config.API_URL.origin} --api-key ${token}`

/** One question to the sample, or where there is none the smallest call there is. */
function tryIt({ config, sample }: FirstRun, token: string): string {
  const curl = `curl -H 'Authorization: Bearer ${token}' ${config.API_URL.origin}`
  if (!sample) return `${curl}/api/v1/me`
  const question = JSON.stringify({ query: SAMPLE_QUESTION, top_k: 3 })
  return `${curl}/api/wf/slim/data-sources/${SAMPLE_SOURCE}/query --json '${question}'`
}

/** On a terminal the secrets are shown; elsewhere they would stay in somebody's log, so a private file takes them. */
async function wordsFor(run: FirstRun, plan: Plan): Promise<FirstWords> {
  const { config, terminal } = run
  const wereSaid = () => forgetPlan(run)
  const lines = [
    '',
    `  Console   ${config.APP_URL.origin}/console`,
    `  E-mail    ${plan.email}`,
    ...(plan.password === null ? [] : [`  Password  ${plan.password}`]),
    '',
    '  Connect Claude Code:',
    `  claude mcp add --transport http svc ${config.MCP_URL.origin}/platform`,
    ...(plan.token === null ? [] : ['', '  Log in with the client:', `  ${logIn(run, plan.token)}`]),
    ...(plan.token === null ? [] : ['', '  Try it:', `  ${tryIt(run, plan.token)}`]),
    '',
  ]
  if (terminal || (plan.password === null && plan.token === null)) {
    return { lines: ['Welcome to svc. This is said once:', ...lines], wereSaid }
  }
  const file = join(config.SVC_DATA_DIR, 'first-run.txt')
  await writePrivately(file, `${lines.join('\n')}\n`)
  const days = plan.tokenDays === 1 ? 'a day' : `${plan.tokenDays} days`
  return {
    lines: [
      `First owner: ${plan.email}. Password and a token (good for ${days}) are in ${file}: read it, then delete it.`,
    ],
    wereSaid,
  }
}
