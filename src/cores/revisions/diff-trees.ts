/** Compares two source trees, in the format that `git apply` reads. */
import { DIFF_MAX_BYTES } from '../../contracts/limits.ts'
import type { Clock } from '../dependencies.ts'
import type { ComparedTexts, TextsToCompare } from './source-thread.ts'

export type TreeFile = {
  readonly path: string
  readonly sha256: string
  readonly isExecutable: boolean
}

export type DiffPorts = {
  readonly read: (file: TreeFile) => Promise<Buffer>
  /** Undefined: it took too long. */
  readonly compare: (texts: TextsToCompare) => Promise<ComparedTexts | undefined>
  readonly clock: Clock
}

export type ChangedFile = {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly addedLines: number
  readonly removedLines: number
}

export type TreeDiff = {
  readonly diff: string
  readonly files: readonly ChangedFile[]
  /** Paths whose contents are not shown: not text, or beyond what one comparison may have. */
  readonly omitted: readonly string[]
}

/** Of the whole comparison, well below the time a request has. */
const TOTAL_MS = 10_000

export async function diffTrees(
  base: readonly TreeFile[],
  head: readonly TreeFile[],
  ports: DiffPorts,
): Promise<TreeDiff> {
  const before = new Map(base.map((file) => [file.path, file]))
  const after = new Map(head.map((file) => [file.path, file]))
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  const [patches, files, omitted]: [string[], ChangedFile[], string[]] = [[], [], []]
  const deadline = ports.clock().getTime() + TOTAL_MS
  let room = DIFF_MAX_BYTES
  for (const path of paths) {
    const [old, now] = [before.get(path), after.get(path)]
    if (old && now && old.sha256 === now.sha256 && old.isExecutable === now.isExecutable) continue
    const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'
    const isInTime = room > 0 && ports.clock().getTime() < deadline
    const compared = isInTime ? await compareFile(path, old, now, ports) : undefined
    const { addedLines = 0, removedLines = 0 } = compared ?? {}
    files.push({ path, change, addedLines, removedLines })
    const isShown = compared !== undefined && Buffer.byteLength(compared.patch) <= room
    const patch = isShown ? compared.patch : omittedPatch(path, old, now)
    room -= Buffer.byteLength(patch)
    patches.push(patch)
    if (!isShown) omitted.push(path)
  }
  return { diff: patches.join(''), files, omitted }
}

async function compareFile(
  path: string,
  old: TreeFile | undefined,
  now: TreeFile | undefined,
  { read, compare }: DiffPorts,
): Promise<ComparedTexts | undefined> {
  const side = async (file: TreeFile | undefined) => {
    if (!file) return undefined
    const text = textOf(await read(file))
    return text === null ? null : { text, isExecutable: file.isExecutable }
  }
  const [from, to] = [await side(old), await side(now)]
  return from === null || to === null ? undefined : compare({ path, old: from, now: to })
}

/** As git says it of files that are not text. */
const omittedPatch = (path: string, old: TreeFile | undefined, now: TreeFile | undefined): string =>
  `diff --git a/${path} b/${path}\n${
    old === undefined
      ? `new file mode ${modeOf(now!)}\n`
      : now === undefined
        ? `deleted file mode ${modeOf(old)}\n`
        : ''
  }Contents are not shown\n`

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
