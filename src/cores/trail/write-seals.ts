/** Signs seals, each with the digest of the one before it, and stores them. */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { HASH_BYTES, rootOf, type SignedSeal } from '../../contracts/trail-format.ts'
import { sha256, sha256Hex, type TrailSigner } from '../../trust/trail-key.ts'

/** The last seal of an organization. */
export type TrailHead = {
  readonly number: number
  readonly epoch: string
  readonly row: number
  readonly digest: string
}

export type NewSeal = {
  readonly orgId: string
  /** One after the other. */
  readonly leaves: Buffer
  readonly orderFrom: number
  readonly orderTo: number
  readonly activityCount?: number
  readonly activityTo?: string
  readonly ids?: Readonly<
    Partial<Record<'activityFirst' | 'activityLast' | 'auditFirst' | 'auditLast', string>>
  >
  readonly says?: Pick<SignedSeal, 'break' | 'removed'>
}

export type Signed = { readonly signed: string; readonly signature: string }

/** Of each organization, or of these. */
export async function readHeads(
  tx: Pick<Transaction, 'execute'>,
  orgIds: readonly string[],
): Promise<Map<string, TrailHead>> {
  const rows = await tx.execute<{
    orgId: string
    number: number
    epoch: string
    row: number
    signed: string
  }>(sql`
    select head.* from json_array_elements_text(${JSON.stringify(orgIds)}::text::json) as org(id) cross join lateral (
      select org_id as "orgId", number::float8 as number, epoch, (first_row + row_count - 1)::float8 as row, signed
      from trail_seals where org_id = org.id order by number desc limit 1) head`)
  return new Map(rows.map(({ orgId, signed, ...head }) => [orgId, { ...head, digest: sha256Hex(signed) }]))
}

/** At most one of each organization. */
export async function writeSeals(
  tx: Transaction,
  { signer, epoch, now }: { readonly signer: TrailSigner; readonly epoch: string; readonly now: Date },
  seals: readonly NewSeal[],
): Promise<Signed[]> {
  const heads = await readHeads(
    tx,
    seals.map(({ orgId }) => orgId),
  )
  const rows = seals.map((seal) => {
    const head = heads.get(seal.orgId)
    const count = seal.leaves.length / HASH_BYTES
    const says: SignedSeal = {
      trail: 1,
      org: seal.orgId,
      number: (head?.number ?? 0) + 1,
      epoch,
      first: (head?.row ?? 0) + 1,
      rows: count,
      activity: seal.activityCount ?? 0,
      ...(seal.activityTo !== undefined && { activity_to: seal.activityTo }),
      root: Buffer.from(rootOf(sha256, seal.leaves)).toString('hex'),
      previous: head?.digest ?? null,
      sealed_at: now.toISOString(),
      key: signer.id,
      ...(head && head.epoch !== epoch && { break: { after: head.epoch } }),
      ...seal.says,
    }
    const signed = JSON.stringify(says)
    return {
      org_id: seal.orgId,
      number: says.number,
      epoch,
      first_row: says.first,
      row_count: count,
      activity_count: says.activity,
      order_from: seal.orderFrom,
      order_to: seal.orderTo,
      activity_first: seal.ids?.activityFirst,
      activity_last: seal.ids?.activityLast,
      audit_first: seal.ids?.auditFirst,
      audit_last: seal.ids?.auditLast,
      signed,
      signature: signer.sign(signed),
      sealed_at: says.sealed_at,
      leaves: seal.leaves.toString('hex'),
      removed_before: says.removed?.activity_before,
    }
  })
  await tx.execute(sql`
    insert into trail_seals (org_id, number, epoch, first_row, row_count, activity_count, order_from, order_to,
      activity_first, activity_last, audit_first, audit_last, signed, signature, sealed_at, leaves, removed_before)
    select org_id, number, epoch, first_row, row_count, activity_count, order_from, order_to,
      activity_first, activity_last, audit_first, audit_last, signed, signature, sealed_at, decode(leaves, 'hex'),
      removed_before
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as seal (org_id text, number bigint, epoch text,
      first_row bigint, row_count integer, activity_count integer, order_from bigint, order_to bigint,
      activity_first text, activity_last text, audit_first text, audit_last text, signed text, signature text,
      sealed_at timestamptz, leaves text, removed_before timestamptz)`)
  return rows.map(({ signed, signature }) => ({ signed, signature }))
}
