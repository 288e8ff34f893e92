/** Reads the repository the way its tests talk about it: files by path, and what each one really imports. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'vite'
import type { ESTree } from 'vite'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** By path from the root of the repository, with `/`. */
export type Tree = ReadonlyMap<string, SourceFile>

export type SourceFile = {
  text: string
  program: ESTree.Program
  comments: readonly string[]
  imports: readonly Import[]
}

export type Import = {
  /** A path from the root for our own files, the specifier as written for packages. */
  to: string
  ours: boolean
  /** `import type`, erased before the program runs. `import { type X }` is not: the module is still loaded. */
  typeOnly: boolean
}

const CODE_FOLDERS = ['src', 'mcp', 'oauth', 'db', 'sdk', 'test', 'scripts', 'bench']

let read: Tree | undefined

/** Once for all tests of a process: parsing takes seconds. */
export const readTree = (): Tree => (read ??= parseTree())

function parseTree(): Tree {
  const paths = CODE_FOLDERS.flatMap((folder) => filesUnder(folder)).filter((path) => path.endsWith('.ts'))
  return treeOf([...paths, 'drizzle.config.ts'].map((path) => [path, readText(path)]))
}

export const treeOf = (files: readonly (readonly [path: string, text: string])[]): Tree =>
  new Map(files.map(([path, text]) => [path, parse(path, text)]))

export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
export const readBytes = (path: string): Buffer => readFileSync(join(ROOT, path))

export function filesUnder(folder: string): string[] {
  try {
    return (
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        // The benches have packages of their own.
        .filter((entry) => entry.isFile() && !/\/(node_modules|dist)(\/|$)/.test(entry.parentPath))
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
        .toSorted()
    )
  } catch (error) {
    // A layer that is not built yet has no folder.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function parse(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path} does not parse: ${errors[0].message}`)
  return { text, program, comments: comments.map(({ value }) => value), imports: importsOf(path, program) }
}

function importsOf(path: string, program: ESTree.Program): Import[] {
  const imports: Import[] = []
  const add = (source: ESTree.Node | null | undefined, typeOnly: boolean) => {
    if (source?.type !== 'Literal' || typeof source.value !== 'string') return
    const ours = source.value.startsWith('.')
    imports.push({ to: ours ? join(dirname(path), source.value) : source.value, ours, typeOnly })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source, node.importKind === 'type'),
    ExportNamedDeclaration: (node) => add(node.source, node.exportKind === 'type'),
    ExportAllDeclaration: (node) => add(node.source, node.exportKind === 'type'),
    ImportExpression: (node) => add(node.source, false),
    TSImportType: (node) => add(node.source, true),
    // `new Worker(new URL('./x.ts', import.meta.url))` runs that file as surely as an import does.
    NewExpression: (node) => {
      const [first] = node.arguments
      const isCode =
        first?.type === 'Literal' && typeof first.value === 'string' && first.value.endsWith('.ts')
      if (node.callee.type === 'Identifier' && node.callee.name === 'URL' && isCode) add(first, false)
    },
  }).visit(program)
  return imports
}
