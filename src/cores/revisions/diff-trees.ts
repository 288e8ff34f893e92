/** Compares two source trees, in the format that `git apply` reads. */
import { formatPatch, structuredPatch } from 'diff'

export type TreeFile = {
  readonly path: string
  readonly sha256: string
  readonly isExecutable: boolean
}

export type ReadContent = (file: TreeFile) => Promise<Buffer>

export type ChangedFile = {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly addedLines: number
  readonly removedLines: number
}

export type TreeDiff = {
  readonly diff: string
  readonly files: readonly ChangedFile[]
  /** Paths whose contents are not shown: not text, or too different to compare in time. */
  readonly omitted: readonly string[]
}

/** Of one file; after it the file counts as changed altogether. */
const FILE_MS = 500
/** Of the whole comparison: it shares its thread with every other request. */
const TOTAL_MS = 3_000
const CONTEXT_LINES = 3

export async function diffTrees(
  base: readonly TreeFile[],
  head: readonly TreeFile[],
  read: ReadContent,
): Promise<TreeDiff> {
  const before = new Map(base.map((file) => [file.path, file]))
  const after = new Map(head.map((file) => [file.path, file]))
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  const [patches, files, omitted]: [string[], ChangedFile[], string[]] = [[], [], []]
  const deadline = performance.now() + TOTAL_MS
  for (const path of paths) {
    const [old, now] = [before.get(path), after.get(path)]
    if (old && now && old.sha256 === now.sha256 && old.isExecutable === now.isExecutable) continue
    const compared = await compareFile(path, old, now, {
      read,
      timeoutMs: Math.min(FILE_MS, deadline - performance.now()),
    })
    files.push(compared.file)
    patches.push(compared.patch)
    if (compared.isOmitted) omitted.push(path)
    // Not for as long as it takes: others wait for this thread.
    await new Promise(setImmediate)
  }
  return { diff: patches.join(''), files, omitted }
}

type Compared = { readonly file: ChangedFile; readonly patch: string; readonly isOmitted: boolean }

async function compareFile(
  path: string,
  old: TreeFile | undefined,
  now: TreeFile | undefined,
  { read, timeoutMs }: { read: ReadContent; timeoutMs: number },
): Promise<Compared> {
  const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'
  const [from, to] = [old && textOf(await read(old)), now && textOf(await read(now))]
  const isText = from !== null && to !== null
  const patch =
    isText && timeoutMs > 0
      ? structuredPatch(path, path, from ?? '', to ?? '', undefined, undefined, {
          context: CONTEXT_LINES,
          timeout: timeoutMs,
        })
      : undefined
  if (!patch) {
    return {
      file: { path, change, addedLines: 0, removedLines: 0 },
      patch: omittedPatch(path, old, now),
      isOmitted: true,
    }
  }
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  return {
    file: {
      path,
      change,
      addedLines: lines.filter((line) => line.startsWith('+')).length,
      removedLines: lines.filter((line) => line.startsWith('-')).length,
    },
    patch: formatPatch({ ...patch, ...gitHeader(path, old, now) }),
    isOmitted: false,
  }
}

const modeOf = ({ isExecutable }: TreeFile): string => (isExecutable ? '100755' : '100644')

function gitHeader(path: string, old: TreeFile | undefined, now: TreeFile | undefined) {
  return {
    isGit: true,
    oldFileName: old ? `a/${path}` : '/dev/null',
    newFileName: now ? `b/${path}` : '/dev/null',
    ...(old === undefined && now ? { isCreate: true, newMode: modeOf(now) } : {}),
    ...(now === undefined && old ? { isDelete: true, oldMode: modeOf(old) } : {}),
    ...(old && now && old.isExecutable !== now.isExecutable
      ? { oldMode: modeOf(old), newMode: modeOf(now) }
      : {}),
  }
}

/** As git says it of files that are not text. */
function omittedPatch(path: string, old: TreeFile | undefined, now: TreeFile | undefined): string {
  const header = formatPatch({
    hunks: [],
    ...gitHeader(path, old, now),
    oldHeader: undefined,
    newHeader: undefined,
  })
  return `${header}Contents are not shown\n`
}

/** Null where it is not text. */
export function textOf(content: Buffer): string | null {
  if (content.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}
