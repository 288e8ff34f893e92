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
  const lines: (ExportLine | { readonly next: number })[] = []
  // Read before the seals: what is sealed meanwhile is there twice rather than not at all.
  const state = await readTrailState(db)
  if (after === 0) {
    const head = (await readHeads(db, [orgId])).get(orgId)
    lines.push({
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
    lines.push({ seal: { signed, signature, leaves: leaves.toString('base64') } })
    for (const one of rows.get(number)!) lines.push({ row: one.number, is: one.row })
  }
  const last = seals.at(-1)
  if (last) lines.push({ next: last.number })
  else lines.push(...(await unsealedLines()))
  return { body: Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')) }

  async function unsealedLines(): Promise<ExportLine[]> {
    const found = []
    for (const kind of TRAIL_KINDS)
      found.push(
        await readUnsealed(db, kind, {
          began: state.began,
          after: state.sealedTo,
          orgId,
          limit: UNSEALED_MAX,
        }),
      )
    const unsealed = inOrder(...found)
    return [
      ...unsealed.map(({ row }) => ({ unsealed: row })),
      { end: { seals: after, unsealed: unsealed.length } },
    ]
  }
})
