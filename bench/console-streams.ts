/** The whole system in this process, with people who are signed in: whoever started it opens their pages. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from '../db/drizzle.ts'
import { memberships, users } from '../db/schema.ts'
import { listen } from '../src/boot/listener.ts'
import { makeId } from '../src/contracts/ids.ts'
import { issueSessionToken } from '../src/cores/identity/issue-session-token.ts'
import { startSession } from '../src/cores/identity/start-session.ts'
import { withTransaction } from '../src/cores/transaction.ts'
import { knownVectors, startSourceSystem } from './source-system.ts'

const [port, count] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const { system, owner, stop } = await startSourceSystem(
  { SVC_DATA_DIR: folder, PORT: port! },
  knownVectors('known-vectors', 384, () => undefined),
)
const auth = system.auth!
const tokens = []
for (let at = 0; at < Number(count); at += 1) tokens.push(await signInAnother(at))
const listening = await listen(system)
process.on('SIGUSR2', () => globalThis.gc?.())
process.once('SIGTERM', () => void end())
console.log(JSON.stringify({ organization: owner.orgId, tokens }))
console.log('ready')

async function end(): Promise<void> {
  await listening.stop()
  await stop()
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
}

/** A colleague of the owner's, as a row. */
async function signInAnother(at: number): Promise<string> {
  const { db } = auth
  const now = auth.clock()
  const userId = makeId('usr', now.getTime())
  const [user] = await db.select().from(users).where(eq(users.id, owner.userId!))
  const [membership] = await db.select().from(memberships).where(eq(memberships.userId, owner.userId!))
  const { id: _theirs, ...joined } = membership!
  await db.insert(users).values({ ...user!, id: userId, email: `person-${at}@bench.example` })
  await db.insert(memberships).values({ ...joined, userId, role: 'viewer' })
  const { sessionId } = await withTransaction(db, (tx) =>
    startSession(
      tx,
      auth,
      { kind: 'user', userId, userName: user!.name, requestId: 'bench' },
      { signedInBy: 'password', device: 'bench' },
    ),
  )
  return (await issueSessionToken(db, auth, sessionId)).token
}
