/** The trail of an organization with its proofs, in pages of whole seals. What is not sealed yet comes last, and is said to be so. */
import { TRAIL_KINDS, type ExportLine } from '../../contracts/trail-format.ts'
import { read, type Verb } from '../verb.ts'
import { readSealedRows, readSeals } from './sealed-rows.ts'
import { publicTrailKeys } from './trail-keys.ts'
import { inOrder, readUnsealed } from './trail-rows.ts'
import { readTrailState } from './trail-state.ts'
import { readHeads } from './write-seals.ts'

/** Of rows that nobody has sealed for long, because no worker runs. */
const UNSEALED_MAX = 10_000

export const exportTrail: Verb<'exportTrail'> = read(async ({ db, clock, orgId }, { after }) => {
  const parts: string[] = []
  const add = (line: ExportLine | { readonly next: number }) => parts.push(JSON.stringify(line), '\n')
  // Read before the seals: what is sealed meanwhile is there twice rather than not at all.
  const state = await readTrailState(db)
  if (after === 0) {
    const head = (await readHeads(db, [orgId])).get(orgId)
    add({
      header: {
        trail_export: 1,
        org: orgId,
        exported_at: clock().toISOString(),
        keys: await publicTrailKeys(db),
        head: head ? { number: head.number, epoch: head.epoch, row: head.row } : null,
      },
    })
  }
  const seals = await readSeals(db, orgId, { from: after + 1 })
  const rows = await readSealedRows(db, orgId, seals)
  for (const { number, signed, signature, leaves } of seals) {
    add({ seal: { signed, signature, leaves: leaves.toString('base64') } })
    for (const row of rows.get(number)!) parts.push(`{"row":${row.number},"is":`, row.text, '}\n')
  }
  const last = seals.at(-1)
  if (last) add({ next: last.number })
  else await addUnsealed()
  return { body: Buffer.from(parts.join('')) }

  async function addUnsealed(): Promise<void> {
    const found = []
    for (const kind of TRAIL_KINDS)
      found.push(
        await readUnsealed(db, kind, {
          began: state.began,
          after: state.sealedTo,
          orgId,
          limit: UNSEALED_MAX + 1,
        }),
      )
    const unsealed = inOrder(...found.map((rows) => inOrder(rows).slice(0, UNSEALED_MAX)))
    for (const { text } of unsealed) parts.push('{"unsealed":', text, '}\n')
    const isMore = found.some(({ length }) => length > UNSEALED_MAX)
    add({ end: { seals: after, unsealed: unsealed.length, ...(isMore && { more: true }) } })
  }
})
