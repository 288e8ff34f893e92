/** Compares two source trees, in the format that `git apply` reads. */
import { DIFF_FILES_MAX, DIFF_MAX_BYTES } from '../../contracts/limits.ts'
import type { Clock } from '../dependencies.ts'
import type { ComparedTexts, TextsToCompare } from './source-thread.ts'

export type TreeFile = {
  readonly path: string
  readonly sha256: string
  readonly isExecutable: boolean
}

export type DiffPorts = {
  readonly read: (file: TreeFile) => Promise<Buffer>
  /** Undefined: it took too long, or was late already when its turn came. */
  readonly compare: (texts: TextsToCompare, isLate: () => boolean) => Promise<ComparedTexts | undefined>
  readonly clock: Clock
}

export type ChangedFile = {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly addedLines: number
  readonly removedLines: number
}

export type TreeDiff = {
  /** Of the first of the files, in their order. */
  readonly diff: string
  readonly files: readonly ChangedFile[]
  /** Files whose contents are not shown: not text, or beyond what one comparison may have. */
  readonly omitted: number
}

/** What the comparing itself may take, without waiting for others. */
const WORK_MS = 10_000
/** With it: well below the time a request has. */
const TOTAL_MS = 15_000
/** Files that wait for the thread together: it goes on with the next one while others would have to be read first. */
const BATCH = 8

type Pair = { readonly path: string; readonly old: TreeFile | undefined; readonly now: TreeFile | undefined }

export async function diffTrees(
  base: readonly TreeFile[],
  head: readonly TreeFile[],
  ports: DiffPorts,
): Promise<TreeDiff> {
  const changed = changedPairs(base, head)
  const listed = changed.slice(0, DIFF_FILES_MAX)
  const [patches, files]: [string[], ChangedFile[]] = [[], []]
  const isLate = lateness(ports.clock)
  let [room, shown] = [DIFF_MAX_BYTES, 0]
  for (let at = 0; at < listed.length; at += BATCH) {
    const batch = listed.slice(at, at + BATCH)
    const compared = room > 0 && !isLate() ? await compareFiles(batch, ports, isLate) : []
    for (const [i, pair] of batch.entries()) {
      const found = compared[i]
      files.push({
        path: pair.path,
        change: changeOf(pair),
        addedLines: found?.addedLines ?? 0,
        removedLines: found?.removedLines ?? 0,
      })
      const isShown = found !== undefined && Buffer.byteLength(found.patch) <= room
      const patch = isShown ? found.patch : omittedPatch(pair)
      // Once one has no place, not even by its name, the diff ends: what comes after would seem to be of another file.
      if (Buffer.byteLength(patch) > room) room = 0
      if (room === 0) continue
      room -= Buffer.byteLength(patch)
      patches.push(patch)
      if (isShown) shown += 1
    }
  }
  return { diff: patches.join(''), files, omitted: changed.length - shown }
}

/** Whether the comparison has had its time; told of what it used. */
function lateness(clock: Clock) {
  const deadline = clock().getTime() + TOTAL_MS
  let used = 0
  const isLate = () => used >= WORK_MS || clock().getTime() >= deadline
  return Object.assign(isLate, { use: (ms: number) => void (used += ms) })
}

function changedPairs(base: readonly TreeFile[], head: readonly TreeFile[]): Pair[] {
  const before = new Map(base.map((file) => [file.path, file]))
  const after = new Map(head.map((file) => [file.path, file]))
  return [...new Set([...before.keys(), ...after.keys()])]
    .toSorted()
    .map((path) => ({ path, old: before.get(path), now: after.get(path) }))
    .filter(({ old, now }) => old?.sha256 !== now?.sha256 || old?.isExecutable !== now?.isExecutable)
}

const changeOf = ({ old, now }: Pair): ChangedFile['change'] =>
  old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'

/** Read one after the other, for they are other requests' connections too; compared in the order in which they are given. */
async function compareFiles(
  pairs: readonly Pair[],
  ports: DiffPorts,
  isLate: ReturnType<typeof lateness>,
): Promise<(ComparedTexts | undefined)[]> {
  const texts: (TextsToCompare | undefined)[] = []
  for (const pair of pairs) texts.push(await readTexts(pair, ports))
  return Promise.all(
    texts.map(async (one) => {
      const compared = one && (await ports.compare(one, isLate))
      isLate.use(compared?.ms ?? 0)
      return compared
    }),
  )
}

/** Undefined: one of them is not text. */
async function readTexts({ path, old, now }: Pair, { read }: DiffPorts): Promise<TextsToCompare | undefined> {
  const side = async (file: TreeFile | undefined) => {
    if (!file) return undefined
    const text = textOf(await read(file))
    return text === null ? null : { text, isExecutable: file.isExecutable }
  }
  const [from, to] = [await side(old), await side(now)]
  return from === null || to === null ? undefined : { path, old: from, now: to }
}

/** As git says it of files that are not text: `git apply` refuses all of such a patch, rather than do half of it. */
function omittedPatch({ path, old, now }: Pair): string {
  const mode =
    old === undefined
      ? `new file mode ${modeOf(now!)}\n`
      : now === undefined
        ? `deleted file mode ${modeOf(old)}\n`
        : old.isExecutable === now.isExecutable
          ? ''
          : `old mode ${modeOf(old)}\nnew mode ${modeOf(now)}\n`
  const [from, to] = [quoted(old && `a/${path}`), quoted(now && `b/${path}`)]
  // Without the line of the index git would take it for no change at all.
  return `diff --git ${quoted(`a/${path}`)} ${quoted(`b/${path}`)}\n${mode}index ${indexOf(old)}..${indexOf(now)}\nBinary files ${from} and ${to} differ\n`
}

/** Of our own hashes, and not in full, so that git looks for no such object. */
const indexOf = (file: TreeFile | undefined): string => file?.sha256.slice(0, 12) ?? '0'.repeat(12)

/** git's way with names: in quotes where they hold one, or a backslash. Other characters that it escapes are in no path. */
const quoted = (name = '/dev/null'): string =>
  /["\\]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name

const modeOf = ({ isExecutable }: TreeFile): string => (isExecutable ? '100755' : '100644')

/** Null where it is not text. */
export function textOf(content: Buffer): string | null {
  if (content.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}
