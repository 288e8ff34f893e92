/** `svc audit …`: takes the trail with its proofs out of the server, and verifies it without one. */
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { argument, textOption } from '../options.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { trailVerifier, type TrailReport } from '../trail/verify-trail.ts'
import { usageError } from '../usage-error.ts'

/** A page is what the server gives at a time; its last line names the next one. */
export const exportTrail: Run = async (ctx, input) => {
  const file = argument(input, 'file')
  const partial = `${file}.partial`
  // The trail names people: nobody else reads the file.
  const out = await open(partial, 'w', 0o600)
  try {
    let [after, lines]: [number | undefined, number] = [0, 0]
    while (after !== undefined) {
      const { body } = await ctx.callOperation('exportTrail', { after })
      const page = splitPage(Buffer.from(body))
      await out.write(page.lines)
      lines += page.count
      after = page.next
    }
    await out.sync()
    await out.close()
    await rename(partial, file)
    ctx.print({ file, lines }, { text: `Wrote ${file}. Verify it: svc audit verify ${file}\n` })
  } catch (error) {
    await out.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

function splitPage(body: Buffer): { lines: Buffer; count: number; next: number | undefined } {
  const lastAt = body.lastIndexOf('\n', body.length - 2) + 1
  const last = JSON.parse(body.subarray(lastAt).toString()) as { next?: number }
  const lines = last.next === undefined ? body : body.subarray(0, lastAt)
  let count = 0
  for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) count++
  return { lines, count, next: last.next }
}

export const verifyTrail: Run = async (ctx, input) => {
  const file = argument(input, 'file')
  const key = textOption(input, 'key')
  const report = await verifyFile(file)
  const isTrusted = key === undefined || report.keys[0]?.id === key
  const areVouched = report.keys.every(({ vouched }) => vouched)
  ctx.print(
    { ...report, ...(key !== undefined && { trusted: isTrusted }) },
    { text: textOf(report, { isTrusted, areVouched }) },
  )
  printKeys(ctx, report, key)
  return report.problem === null && isTrusted && areVouched ? 0 : FOUND_FAILED
}

export async function verifyFile(file: string): Promise<TrailReport> {
  try {
    return await verifyLines(createReadStream(file, { highWaterMark: 1 << 20 }))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === undefined) throw error
    throw usageError(`${file} cannot be read (${code})`, 'Name a file that `svc audit export` wrote')
  }
}

async function verifyLines(chunks: Readable): Promise<TrailReport> {
  const verifier = trailVerifier()
  let rest: Buffer[] = []
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, at)
      verifier.take(rest.length === 0 ? line.toString() : Buffer.concat([...rest, line]).toString())
      rest = []
      from = at + 1
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
  return verifier.end(rest.length === 0)
}

type Trust = { readonly isTrusted: boolean; readonly areVouched: boolean }

function verdictOf({ problem, rows }: TrailReport, { isTrusted, areVouched }: Trust): string {
  if (problem) return `Not intact: ${sanitizeLine(problem.says)} (line ${problem.line}, ${problem.what}).`
  if (!isTrusted) return `${rows} rows are as they were sealed, but with another key than yours.`
  if (!areVouched) return `${rows} rows are as they were sealed, but with a key that nobody vouches for.`
  return `Intact: ${rows} rows are as they were sealed.`
}

function textOf(report: TrailReport, trust: Trust): string {
  const { head, deleted, unsealed, breaks } = report
  const lines = [
    verdictOf(report, trust),
    head
      ? `Signed head: row ${head.row} of epoch ${sanitizeLine(head.epoch)}, seal ${head.seal}, at ${sanitizeLine(head.sealed_at)}.`
      : 'Signed head: none.',
    ...(deleted > 0 ? [`Deleted by retention, as signed: ${deleted} rows.`] : []),
    ...breaks.map(
      ({ row, epoch }) => `Before row ${row} the database went back (epoch ${sanitizeLine(epoch)}).`,
    ),
    ...(unsealed > 0 ? [`Not sealed yet, so not proven: ${unsealed} rows.`] : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function printKeys(ctx: CommandContext, { keys }: TrailReport, key: string | undefined): void {
  for (const { id, vouched } of keys)
    if (!vouched) ctx.info(`Key ${sanitizeLine(id)} is not signed by the key before it.`)
  if (key === undefined && keys[0])
    ctx.info(
      `First key: ${sanitizeLine(keys[0].id)}. Compare it with /.well-known/svc-trail.json of your instance.`,
    )
}
