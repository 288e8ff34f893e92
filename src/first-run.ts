/**
 * The first start: an owner, an organization and a token, said once. Killed at any moment it begins again where it
 * stood: what will be said is written down (0600) before it comes true, and thrown away after it was said.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import * as z from 'zod'
import type { Transaction } from '../db/connect.ts'
import { installationFacts, passwords } from '../db/schema.ts'
import type { AuthNeeds } from '../oauth/needs.ts'
import type { Config } from './config.ts'
import type { Caller } from './contracts/operation.ts'
import { insertUser, keepToken } from './cores/identity/index.ts'
import { foundOrganization } from './cores/organizations/index.ts'
import { withTransaction } from './cores/transaction.ts'
import { writePrivately } from './secrets.ts'
import { makeApiToken } from './trust/api-token.ts'

const Plan = z.object({ email: z.string(), password: z.string().nullable(), token: z.string().nullable() })
type Plan = z.output<typeof Plan>

export type FirstRun = { readonly config: Config; readonly auth: AuthNeeds; readonly terminal: boolean }

/** The lines to say, or nothing when this is not the first start. */
export async function firstRun(run: FirstRun): Promise<string[] | undefined> {
  const folder = run.config.SVC_DATA_DIR
  const planned = join(folder, 'first-run.json')
  if (await isDone(run.auth)) {
    const unsaid = await readPlan(planned)
    return unsaid && say(run, unsaid, planned)
  }
  const plan = (await readPlan(planned)) ?? makePlan(run)
  if (plan.password ?? plan.token) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writePrivately(planned, JSON.stringify(plan))
  }
  const hash = await run.auth.passwords.hash(plan.password ?? run.config.SVC_ADMIN_PASSWORD ?? '')
  const made = await withTransaction(run.auth.db, (tx) => settle(tx, run, plan, hash))
  if (made) return say(run, plan, planned)
  // Another process was faster: its words are the true ones.
  await rm(planned, { force: true })
  return undefined
}

async function isDone({ db }: AuthNeeds): Promise<boolean> {
  return (await db.select().from(installationFacts)).some((fact) => fact.name === 'first-run')
}

function makePlan({ config, terminal }: FirstRun): Plan {
  const given = config.SVC_ADMIN_PASSWORD !== undefined
  return {
    email: config.SVC_ADMIN_EMAIL ?? 'owner@svc.localhost',
    password: given ? null : readablePassword(),
    // Somebody who chose the password themselves and looks at no terminal has no use for a secret in a file.
    token: given && !terminal ? null : makeApiToken(),
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

async function settle(tx: Transaction, run: FirstRun, plan: Plan, hash: string): Promise<boolean> {
  const { auth, config } = run
  // Several replicas may start on an empty database at the same moment.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('svc first run', 0))`)
  const [fact] = await tx
    .insert(installationFacts)
    .values({ name: 'first-run', value: { at: auth.clock().toISOString() } })
    .onConflictDoNothing()
    .returning()
  if (!fact) return false
  const name = plan.email.split('@')[0]!
  const userId = await insertUser(tx, auth.clock, { email: plan.email, name })
  await tx.insert(passwords).values({ userId, email: plan.email, hash, changedAt: auth.clock() })
  const founder = founderOf(userId, name, plan.email)
  const org = await foundOrganization({ ...auth, db: tx })(founder, { name: config.SVC_ORG ?? 'My organization' })
  if (plan.token !== null) {
    await keepToken(tx, auth, { ...founder, orgId: org.id }, plan.token, {
      name: 'First run',
      roleCap: 'owner',
      scopes: null,
      audiences: ['api', 'platform', 'notifications'],
      expiresAt: new Date(auth.clock().getTime() + (run.terminal ? 30 : 1) * 24 * 60 * 60 * 1000),
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
  expiresAt: null,
  door: 'api',
  address: 'here',
  requestId: 'first-run',
})

async function readPlan(file: string): Promise<Plan | undefined> {
  try {
    return Plan.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return undefined
  }
}

/** On a terminal the secrets are shown; elsewhere they would stay in somebody's log, so a private file takes them. */
async function say({ config, terminal }: FirstRun, plan: Plan, planned: string): Promise<string[]> {
  const lines = [
    '',
    `  Console   ${config.APP_URL.origin}/console`,
    `  E-mail    ${plan.email}`,
    ...(plan.password === null ? [] : [`  Password  ${plan.password}`]),
    ...(plan.token === null
      ? []
      : ['', '  Try it:', `  curl -H 'Authorization: Bearer ${plan.token}' ${config.API_URL.origin}/api/v1/me`]),
    '',
  ]
  if (terminal || (plan.password === null && plan.token === null)) {
    await rm(planned, { force: true })
    return ['Welcome to svc. This is said once:', ...lines]
  }
  const file = join(config.SVC_DATA_DIR, 'first-run.txt')
  await writePrivately(planned, `${lines.join('\n')}\n`)
  await rename(planned, file)
  return [
    `First owner: ${plan.email}. Password and a token (good for a day) are in ${file}: read it, then delete it.`,
  ]
}
