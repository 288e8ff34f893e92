/**
 * A refresh token presented twice within the grace gets the same answer twice: clients refresh in parallel, and
 * answers get lost. The answer is kept sealed under a key that only the presented token yields.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { and, eq, isNull } from '../../db/drizzle.ts'
import { oauthArtifacts } from '../../db/schema.ts'
import type { ConnectorNeeds } from './needs.ts'
import { artifactId, inGrace } from './store.ts'

type Answer = {
  access_token: string
  refresh_token: string
  expires_in: number
  scope?: string
  token_type: string
}
type Sealed = { answer: Answer; at: number }

/** How long a second request waits for the first one's answer before it takes its own. */
const WAIT_MS = 3_000
const LOOK_MS = 20

export async function keepOrRepeat(
  needs: ConnectorNeeds,
  ctx: KoaContextWithOIDC,
  presented: string,
): Promise<void> {
  if (ctx.status !== 200) return
  const id = artifactId(needs, 'RefreshToken', presented)
  const answer = ctx.body as Answer
  const sealed = seal(presented, { answer, at: needs.clock().getTime() })
  const [isFirst] = await needs.db
    .update(oauthArtifacts)
    .set({ successor: sealed })
    .where(and(eq(oauthArtifacts.id, id), isNull(oauthArtifacts.successor)))
    .returning({ id: oauthArtifacts.id })
  if (isFirst) return
  const first = await firstAnswer(needs, id, presented)
  if (!first) return
  // The pair that was just minted for the second request is thrown away: the family has one successor.
  await needs.db
    .delete(oauthArtifacts)
    .where(eq(oauthArtifacts.id, artifactId(needs, 'RefreshToken', answer.refresh_token)))
  const age = Math.floor((needs.clock().getTime() - first.at) / 1000)
  ctx.body = { ...first.answer, expires_in: first.answer.expires_in - age }
}

async function firstAnswer(
  needs: ConnectorNeeds,
  id: string,
  presented: string,
): Promise<Sealed | undefined> {
  for (let waited = 0; waited <= WAIT_MS; waited += LOOK_MS) {
    const [row] = await needs.db.select().from(oauthArtifacts).where(eq(oauthArtifacts.id, id))
    if (!row?.consumedAt || !inGrace(needs, 'RefreshToken', row.consumedAt)) return undefined
    if (row.successor !== null) return open(presented, row.successor)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return undefined
}

const keyOf = (token: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', token, 'svc', 'refresh-successor', 32))

function seal(token: string, value: Sealed): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(token), iv)
  const body = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

function open(token: string, sealed: string): Sealed {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(token), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return JSON.parse(
    Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString(),
  ) as Sealed
}
