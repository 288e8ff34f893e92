/**
 * A refresh token used twice within the grace period gets the same answer twice: clients refresh in parallel, and
 * answers get lost. The answer is stored encrypted under a key derived from the presented token.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { and, eq, isNull, sql } from '../../db/drizzle.ts'
import { oauthArtifacts } from '../../db/schema.ts'
import { preparedQuery } from '../../src/cores/prepared-query.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { artifactId, inGrace } from './storage-adapter.ts'

type Answer = {
  access_token: string
  refresh_token: string
  expires_in: number
  scope?: string
  token_type: string
}
type Successor = { answer: Answer; at: number }

/** How long a second request waits for the first one's answer before it uses its own. */
const WAIT_MS = 3_000
const POLL_MS = 20

export async function repeatWithinGrace(
  deps: ConnectorDeps,
  ctx: KoaContextWithOIDC,
  presented: string,
): Promise<void> {
  if (ctx.status !== 200) return
  const id = artifactId(deps, 'RefreshToken', presented)
  const answer = ctx.body as Answer
  const encrypted = encrypt(presented, { answer, at: deps.clock().getTime() })
  const [isFirst] = await storeSuccessor(deps.db).execute({ id, encrypted })
  if (isFirst) return
  const first = await firstAnswer(deps, id, presented)
  if (!first) return
  // The tokens just issued for the second request are deleted: the family has one successor.
  await deps.db
    .delete(oauthArtifacts)
    .where(eq(oauthArtifacts.id, artifactId(deps, 'RefreshToken', answer.refresh_token)))
  const age = Math.floor((deps.clock().getTime() - first.at) / 1000)
  ctx.body = { ...first.answer, expires_in: first.answer.expires_in - age }
}

const storeSuccessor = preparedQuery((db) =>
  db
    .update(oauthArtifacts)
    .set({ successor: sql`${sql.placeholder('encrypted')}::text` })
    .where(and(eq(oauthArtifacts.id, sql.placeholder('id')), isNull(oauthArtifacts.successor)))
    .returning({ id: oauthArtifacts.id })
    .prepare('store_successor'),
)

async function firstAnswer(
  deps: ConnectorDeps,
  id: string,
  presented: string,
): Promise<Successor | undefined> {
  for (let waited = 0; waited <= WAIT_MS; waited += POLL_MS) {
    const [row] = await deps.db.select().from(oauthArtifacts).where(eq(oauthArtifacts.id, id))
    if (!row?.consumedAt || !inGrace(deps, 'RefreshToken', row.consumedAt)) return undefined
    if (row.successor !== null) return decrypt(presented, row.successor)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return undefined
}

const keyOf = (token: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', token, 'svc', 'refresh-successor', 32))

function encrypt(token: string, value: Successor): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(token), iv)
  const body = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

function decrypt(token: string, encrypted: string): Successor {
  const bytes = Buffer.from(encrypted, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(token), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return JSON.parse(
    Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString(),
  ) as Successor
}
