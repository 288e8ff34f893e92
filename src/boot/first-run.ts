/**
 * The first start: creates an owner, an organization and a token, and prints them once. After a crash at any moment it
 * continues: what will be printed is written to a file (0600) before it is created, and deleted after it was printed.
 * Of several processes that start together only the one that created the owner writes the file.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from '../../db/drizzle.ts'
import * as z from 'zod'
import type { Transaction } from '../../db/connect.ts'
import { makeDataFolder } from '../../db/data-folder.ts'
import { installationFacts, passwords } from '../../db/schema.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import type { Config } from './config.ts'
import type { Principal } from '../contracts/operation.ts'
import { insertUser, insertApiToken } from '../cores/identity/index.ts'
import { createOrganization } from '../cores/organizations/index.ts'
import { withTransaction } from '../cores/transaction.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../contracts/sample.ts'
import { requestSample } from '../sample/load-sample.ts'
import { writePrivateFile } from './secrets.ts'
import { makeApiToken } from '../trust/api-token.ts'

const Plan = z.object({
  id: z.string(),
  email: z.string(),
  password: z.string().nullable(),
  token: z.string().nullable(),
  tokenDays: z.int(),
  /** The process that will print it. */
  host: z.string(),
  pid: z.int(),
})
type Plan = z.output<typeof Plan>

export type FirstRun = {
  readonly config: Config
  readonly auth: AuthDeps
  readonly terminal: boolean
  /** Whether the sample is loaded. */
  readonly sample: boolean
}

/**
 * What to print to people, or as a record of the log, which holds no secret; `discardPlan` is called afterwards, because until
 * then it may have to be printed again.
 */
export type Welcome = {
  readonly lines: string[]
  readonly record: { readonly message: string; readonly owner: string; readonly file?: string }
  readonly discardPlan: () => Promise<void>
}

/** Undefined when this is not the first start. */
export async function firstRun(run: FirstRun): Promise<Welcome | undefined> {
  const completed = await completedPlanId(run.auth)
  if (completed !== undefined) {
    const unprinted = await readPlan(run)
    // A replica beside this one has just made it, and prints it.
    if (unprinted && isAlive(unprinted)) return undefined
    if (unprinted?.id === completed) return welcome(run, unprinted)
    // Of a process that crashed before it could create anything; another one did.
    if (unprinted) await deletePlan(run)
    return undefined
  }
  const plan = makePlan(run)
  const password = plan.password ?? run.config.SVC_ADMIN_PASSWORD
  const hash = password === undefined ? undefined : await run.auth.passwords.hash(password)
  const isFirst = await withTransaction(run.auth.db, (tx) => carryOut(tx, run, plan, hash))
  return isFirst ? welcome(run, plan) : undefined
}

/** Of this host alone: what a process of another one left is printed. After a restart, ours is another process or gone. */
function isAlive({ host, pid }: Plan): boolean {
  if (host !== hostname() || pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // There is one, of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function completedPlanId({ db }: AuthDeps): Promise<string | undefined> {
  const [row] = await db.select().from(installationFacts).where(eq(installationFacts.name, 'first-run'))
  return row && FirstRunFact.parse(row.value).plan
}

const FirstRunFact = z.object({ at: z.string(), plan: z.string() })

function makePlan({ config, auth, terminal }: FirstRun): Plan {
  const hasPassword = config.SVC_ADMIN_PASSWORD !== undefined
  return {
    id: randomBytes(16).toString('hex'),
    email: config.SVC_ADMIN_EMAIL ?? 'owner@svc.localhost',
    // Where people only sign in through a provider, a password would be useless; the token invites the first of them.
    password: hasPassword || !auth.passwordSignIn ? null : readablePassword(),
    // Whoever set the password themselves and has no terminal has no use for a secret in a file.
    token: hasPassword && !terminal ? null : makeApiToken(),
    // In a file it may stay for long.
    tokenDays: terminal ? 30 : 1,
    host: hostname(),
    pid: process.pid,
  }
}

/** 99 bits in groups of five: easy to type, impossible to guess. */
function readablePassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  let password = ''
  while (password.length < 20) {
    for (const byte of randomBytes(40)) {
      // 248 = 8 * 31, so that no character is likelier than another.
      if (byte < 248 && password.length < 20) password += letters[byte % letters.length]
    }
  }
  return password.match(/.{5}/g)!.join('-')
}

async function carryOut(
  tx: Transaction,
  run: FirstRun,
  plan: Plan,
  hash: string | undefined,
): Promise<boolean> {
  const { auth, config } = run
  // Several replicas may start on an empty database at the same moment.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc first run', 0))`)
  const [row] = await tx
    .insert(installationFacts)
    .values({
      name: 'first-run',
      value: { at: auth.clock().toISOString(), plan: plan.id } satisfies z.input<typeof FirstRunFact>,
    })
    .onConflictDoNothing()
    .returning()
  if (!row) return false
  await writePlan(run, plan)
  const name = plan.email.split('@')[0]!
  // Whoever sets SVC_ADMIN_EMAIL answers for it; the generated address is nobody's.
  const emailVerifiedAt = config.SVC_ADMIN_EMAIL === plan.email ? auth.clock() : null
  const userId = await insertUser(tx, auth.clock, { email: plan.email, name, emailVerifiedAt })
  if (hash !== undefined) {
    await tx.insert(passwords).values({ userId, email: plan.email, hash, changedAt: auth.clock() })
  }
  const owner = firstOwner(userId, name, plan.email)
  // The first one is not counted against a limit of 0.
  const org = await createOrganization({ ...auth, db: tx, organizationsPerPerson: 1 })(owner, {
    name: config.SVC_ORG ?? (run.sample ? 'Sample organization' : 'My organization'),
  })
  if (run.sample) await requestSample(tx, { ...owner, orgId: org.id, role: 'owner' })
  if (plan.token !== null) {
    await insertApiToken(tx, auth, { ...owner, orgId: org.id }, plan.token, {
      parentId: null,
      name: 'First run',
      roleCap: 'owner',
      carriesAppRoles: true,
      scopes: null,
      audiences: ['api', 'platform', 'notifications'],
      expiresAt: new Date(auth.clock().getTime() + plan.tokenDays * 24 * 60 * 60 * 1000),
    })
  }
  return true
}

const firstOwner = (userId: string, name: string, email: string): Principal & { userId: string } => ({
  kind: 'user',
  userId,
  userName: name,
  userEmail: email,
  orgId: null,
  organization: null,
  role: null,
  carriesAppRoles: true,
  scopes: null,
  audiences: [],
  sources: null,
  expiresAt: null,
  entryPoint: 'api',
  address: 'local',
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
  makeDataFolder(run.config.SVC_DATA_DIR)
  await writePrivateFile(planFile(run), JSON.stringify(plan))
}

/** And what a crashed process left half written. */
async function deletePlan({ config }: FirstRun): Promise<void> {
  const folder = config.SVC_DATA_DIR
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name === 'first-run.json' || /^first-run\..*\.partial/.test(name))
  await Promise.all(files.map((name) => rm(join(folder, name), { force: true })))
}

/**
 * A file of the checkout: run in another folder, the line finds nothing, where npx would fetch somebody else's package
 * of that name and hand it the token. The server of a release comes without it: there the client is a package of its own.
 */
const CLIENT = existsSync(new URL('../../bin/svc', import.meta.url)) ? './bin/svc' : 'svc'

const loginCommand = ({ config }: FirstRun): string => `${CLIENT} login --api-url ${config.API_URL.origin}`

/** From stdin: on the command line, everybody on the machine could read the token. */
const scriptLogin = (run: FirstRun, token: string): string =>
  `echo ${token} | ${loginCommand(run)} --api-key -`

/** A question to the sample, or without one the smallest call there is. */
function exampleCall({ config, sample }: FirstRun, token: string): string {
  const curl = `curl -H 'Authorization: Bearer ${token}' ${config.API_URL.origin}`
  if (!sample) return `${curl}/api/v1/me`
  const question = JSON.stringify({ query: SAMPLE_QUESTION, top_k: 3 })
  return `${curl}/api/wf/slim/data-sources/${SAMPLE_SOURCE}/query --json '${question}'`
}

/** On a terminal the secrets are printed; elsewhere they would end up in a log, so they go into a private file. */
async function welcome(run: FirstRun, plan: Plan): Promise<Welcome> {
  const { config, terminal } = run
  const discardPlan = () => deletePlan(run)
  const lines = [
    '',
    `  Console   ${config.APP_URL.origin}/console`,
    `  Email     ${plan.email}`,
    ...(plan.password === null ? [] : [`  Password  ${plan.password}`]),
    '',
    '  Connect Claude Code:',
    `  claude mcp add --transport http svc ${config.MCP_URL.origin}/platform`,
    '',
    '  Log in with the client:',
    `  ${loginCommand(run)}`,
    ...(plan.token === null ? [] : ['', '  In a script:', `  ${scriptLogin(run, plan.token)}`]),
    ...(plan.token === null ? [] : ['', '  Try it:', `  ${exampleCall(run, plan.token)}`]),
    '',
  ]
  if (terminal || (plan.password === null && plan.token === null)) {
    const record = { message: 'Welcome to svc', owner: plan.email }
    return { lines: ['Welcome to svc. This is shown only once:', ...lines], record, discardPlan }
  }
  const file = join(config.SVC_DATA_DIR, 'first-run.txt')
  await writePrivateFile(file, `${lines.join('\n')}\n`)
  const days = plan.tokenDays === 1 ? 'a day' : `${plan.tokenDays} days`
  const message = `First owner: ${plan.email}. The password and a token (valid for ${days}) are in ${file}. Read it, then delete it.`
  return { lines: [message], record: { message, owner: plan.email, file }, discardPlan }
}
