/** `svc audit …`: takes the trail with its proofs out of the server, and verifies it without one. */
import { createReadStream } from 'node:fs'
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { ReceiptFile } from '../../contracts/receipt-format.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { argument, textOption } from '../options.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { rootsComparer, type RootsReport } from '../trail/compare-roots.ts'
import { readReceipt, verifyReceipt, type ReceiptReport } from '../trail/verify-receipt.ts'
import { trailVerifier, type TrailReport } from '../trail/verify-trail.ts'
import { usageError } from '../usage-error.ts'

/** A page is what the server gives at a time; its last line names the next one. */
export const exportTrail: Run = async (ctx, input) => {
  const file = argument(input, 'file')
  const partial = `${file}.partial`
  // The trail names people: nobody else reads the file.
  const out = await writing(file, () => open(partial, 'w', 0o600))
  try {
    let [after, lines]: [number | undefined, number] = [0, 0]
    while (after !== undefined) {
      const { body } = await ctx.callOperation('exportTrail', { after })
      const page = splitPage(Buffer.from(body))
      await writing(file, () => out.appendFile(page.lines))
      lines += page.count
      after = page.next
    }
    await writing(file, async () => {
      await out.sync()
      await out.close()
      await rename(partial, file)
    })
    ctx.print({ file, lines }, { text: `Wrote ${file}. Verify it: svc audit verify ${file}\n` })
  } catch (error) {
    await out.close().catch(() => {})
    await rm(partial, { force: true }).catch(() => {})
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
  const kept = textOption(input, 'roots')
  const receipt = await reading(file, HINT, () => receiptIn(file))
  if (receipt) return printReceipt(ctx, verifyReceipt(receipt), key)
  const comparer = rootsComparer()
  const report = await verifyFile(file, (signed, text) => comparer.takeSeal(signed, text))
  const roots =
    kept === undefined
      ? undefined
      : await reading(kept, 'Name a file of TRAIL_ROOTS, or the folder', async () =>
          comparer.compare(linesOf(await rootFiles(kept)), {
            org: report.org,
            exportedAt: report.exported_at,
          }),
        )
  const isTrusted = key === undefined || report.keys[0]?.id === key
  const areVouched = report.keys.every(({ vouched }) => vouched)
  // None at all is the wrong folder, or an emptied one.
  const areKept = !roots || (roots.wrong === 0 && (roots.kept > 0 || report.seals === 0))
  ctx.print(
    { ...report, ...(key !== undefined && { trusted: isTrusted }), ...(roots && { roots }) },
    { text: textOf(report, { isTrusted, areVouched, areKept }, roots) },
  )
  printKeys(ctx, report, key)
  return report.problem === null && isTrusted && areVouched && areKept ? 0 : FOUND_FAILED
}

const HINT = 'Name a file that `svc audit export` wrote, or a receipt'

/** Larger ones are exports. */
const RECEIPT_MAX_BYTES = 1 << 20

async function receiptIn(file: string): Promise<ReceiptFile | undefined> {
  return (await stat(file)).size > RECEIPT_MAX_BYTES ? undefined : readReceipt(await readFile(file, 'utf8'))
}

function printReceipt(ctx: CommandContext, report: ReceiptReport, key: string | undefined): number {
  const { intact, receipt, keys } = report
  const isTrusted = key === undefined || keys[0]?.id === key
  const areVouched = keys.every(({ vouched }) => vouched)
  ctx.print(
    { ...report, ...(key !== undefined && { trusted: isTrusted }) },
    { text: `${receiptVerdict()}\n` },
  )
  printKeys(ctx, report, key)
  return intact && isTrusted && areVouched ? 0 : FOUND_FAILED

  function receiptVerdict(): string {
    if (!intact || !receipt) return 'Not intact: this receipt is not as it was signed.'
    if (!isTrusted) return 'This receipt is as it was signed, but with another key than yours.'
    if (!areVouched) return 'This receipt is as it was signed, but with a key that nobody vouches for.'
    const of = sanitizeLine(`${receipt.of.kind.replace('_', ' ')} ${receipt.of.name}`)
    return receipt.rehearsal
      ? `Intact: a rehearsal for the ${of}. Nothing was ended.`
      : `Intact: access of the ${of} ended. No process wrote a byte for it after ${sanitizeLine(receipt.final_at)}.`
  }
}

export const verifyFile = (
  file: string,
  onSeal?: Parameters<typeof trailVerifier>[0],
): Promise<TrailReport> =>
  reading(file, HINT, () => verifyLines(createReadStream(file, { highWaterMark: 1 << 20 }), onSeal))

async function reading<T>(path: string, hint: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === undefined) throw error
    throw usageError(`${path} cannot be read (${code})`, hint)
  }
}

/** The disk, the share of this user, or the largest file that there may be. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === undefined) throw error
    const problem =
      code === 'ENOENT'
        ? `There is no folder ${dirname(resolve(path))}`
        : `${path} cannot be written (${code})`
    const hint = FULL.has(code)
      ? 'There is no room for it: make some, or name a file on another disk'
      : 'Name a file in a folder that is there, and that you may write to'
    throw usageError(problem, hint)
  }
}

async function rootFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const names = await readdir(path)
  return names
    .filter((name) => name.endsWith('.ndjson'))
    .toSorted()
    .map((name) => join(path, name))
}

async function* linesOf(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files) yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity })
}

async function verifyLines(
  chunks: Readable,
  onSeal: Parameters<typeof trailVerifier>[0],
): Promise<TrailReport> {
  const verifier = trailVerifier(onSeal)
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

type Trust = { readonly isTrusted: boolean; readonly areVouched: boolean; readonly areKept: boolean }

function verdictOf({ problem, rows }: TrailReport, { isTrusted, areVouched, areKept }: Trust): string {
  if (problem) return `Not intact: ${sanitizeLine(problem.says)} (line ${problem.line}, ${problem.what}).`
  if (!isTrusted) return `${rows} rows are as they were sealed, but with another key than yours.`
  if (!areVouched) return `${rows} rows are as they were sealed, but with a key that nobody vouches for.`
  if (!areKept) return `${rows} rows are as they were sealed, but not by the roots that you kept.`
  return `Intact: ${rows} rows are as they were sealed.`
}

function textOf(report: TrailReport, trust: Trust, roots: RootsReport | undefined): string {
  const { head, deleted, late, unsealed, more, breaks } = report
  const lines = [
    verdictOf(report, trust),
    head
      ? `Signed head: row ${head.row} of epoch ${sanitizeLine(head.epoch)}, seal ${head.seal}, at ${sanitizeLine(head.sealed_at)}.`
      : 'Signed head: none.',
    ...(deleted > 0 ? [`Deleted by retention, as signed: ${deleted} rows.`] : []),
    ...breaks.map(
      ({ row, epoch }) => `Before row ${row} the database went back (epoch ${sanitizeLine(epoch)}).`,
    ),
    ...(late
      ? [`Sealed late: ${late.rows} rows, more than a day after their time. The first is row ${late.first}.`]
      : []),
    ...(roots ? rootsText(roots) : []),
    ...(unsealed > 0
      ? [
          `Not sealed yet, so not proven: ${unsealed} rows${more ? ', and more that are not in this file' : ''}.`,
        ]
      : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function rootsText({ kept, problems, wrong, lost, younger, unreadable }: RootsReport): string[] {
  return [
    `Compared with the roots that you kept: ${kept} of this organization.`,
    ...problems.map(({ what, seal, epoch, first, rows, sealed_at }) => {
      const of = rows > 0 ? `rows ${first} to ${first + rows - 1}` : 'no rows'
      const is = what === 'dropped' ? 'is not in the export' : 'is another one in the export'
      return `Root of seal ${seal} (${of}, epoch ${sanitizeLine(epoch)}, at ${sanitizeLine(sealed_at)}) ${is}.`
    }),
    ...(wrong > problems.length ? [`And ${wrong - problems.length} more.`] : []),
    ...(lost > 0 ? [`Lost where the database went back: ${lost} roots.`] : []),
    ...(younger > 0 ? [`Younger than the export: ${younger} roots.`] : []),
    ...(unreadable > 0 ? [`Lines that are no root: ${unreadable}.`] : []),
  ]
}

function printKeys(ctx: CommandContext, { keys }: Pick<TrailReport, 'keys'>, key: string | undefined): void {
  for (const { id, vouched } of keys) if (!vouched) ctx.info(`Key ${id} is not signed by the key before it.`)
  if (key === undefined && keys[0])
    ctx.info(`First key: ${keys[0].id}. Compare it with /.well-known/svc-trail.json of your instance.`)
}
