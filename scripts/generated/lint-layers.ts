/**
 * .oxlintrc.layers.json: the table of layers as rules of the linter, for whoever is writing at the moment. The linter
 * sees specifiers, not files: it takes `import { type X }` for a type, and sees neither `import('x').X` in a type nor
 * `new URL('x.ts', import.meta.url)`. test/repository/architecture.test.ts sees all of these.
 */
import { LAYER_NAMES, LAYERS, mayImport, type Layer, type LayerName } from '../../test/repository/layers.ts'

type Pattern = { regex: string; allowTypeImports?: true; message: string }

export function lintLayers(): string {
  const overrides = LAYER_NAMES.filter((name) => name !== 'tooling').flatMap((name) =>
    LAYERS[name].partsShow
      ? [
          override(inFolders(name, '*.ts'), [...patterns(name), noPart(LAYERS[name])]),
          // Parts are as deep as two folders; each depth has its own way up to the other parts.
          override(inFolders(name, '*/*.ts'), [...patterns(name), shownOnly(LAYERS[name], 1)]),
          override(inFolders(name, '*/*/**/*.ts'), [...patterns(name), shownOnly(LAYERS[name], 2)]),
        ]
      : [override(inFolders(name, '**/*.ts'), patterns(name))],
  )
  return `${JSON.stringify({ overrides }, null, 2)}\n`
}

const override = (files: readonly string[], all: readonly Pattern[]) => ({
  files,
  excludeFiles: ['**/*.test.ts'],
  rules: { 'no-restricted-imports': ['error', { patterns: all }] },
})

const inFolders = (name: LayerName, pattern: string): string[] =>
  LAYERS[name].files.map((root) => (isFile(root) ? root : `${root}/${pattern}`))

const isFile = (root = ''): boolean => root.endsWith('.ts')

function patterns(name: LayerName): Pattern[] {
  const layer = LAYERS[name]
  const named = (how: ReturnType<typeof mayImport>) =>
    LAYER_NAMES.filter((other) => mayImport(name, other) === how)
  const rootsOf = (how: ReturnType<typeof mayImport>) => named(how).flatMap((other) => LAYERS[other].files)
  const { message } = layer
  return [
    ...closedRoots(layer, rootsOf('nothing'), { message }),
    ...closedRoots(layer, rootsOf('types'), {
      allowTypeImports: true,
      message: `${message} Its types may be imported by \`import type\`.`,
    }),
    // What lies beside a layer of a single file belongs to another layer.
    ...(isFile(layer.files[0]) ? [{ regex: String.raw`^\./`, message }] : []),
    { regex: String.raw`\.test\.ts$`, message },
    ...(layer.packages ? [{ regex: packagePattern(layer.packages), message }] : []),
  ]
}

/** All of these, but for the single files of them that the layer may import. */
function closedRoots(layer: Layer, roots: readonly string[], rest: Omit<Pattern, 'regex'>): Pattern[] {
  const whole = roots.filter((root) => filesIn(layer, root).length === 0)
  const partly = roots.filter((root) => !whole.includes(root))
  return [
    ...(whole.length > 0 ? [{ regex: leadsTo(layer, whole), ...rest }] : []),
    ...partly.map((root) => ({
      regex: `${leadsTo(layer, [root])}${anythingBut(filesIn(layer, root))}`,
      ...rest,
    })),
  ]
}

/** A specifier that leads into one of these folders, or to one of these files, from a layer's file at any depth. */
function leadsTo({ files }: Layer, roots: readonly string[]): string {
  // Files in src reach other folders of src without saying src.
  const inSource = files.every((file) => file.startsWith('src/'))
  const ways = roots.map((root) => {
    const path = escaped(inSource ? root.replace(/^src\//, '') : root)
    return isFile(root) ? `${path}$` : `${path}/`
  })
  return String.raw`^(?:\.\./)+(?:${ways.join('|')})`
}

const filesIn = (layer: Layer, root: string): string[] =>
  (layer.mayImportFiles ?? [])
    .filter((path) => path.startsWith(`${root}/`))
    .map((path) => path.slice(root.length + 1))

const noPart = ({ message }: Layer): Pattern => ({ regex: String.raw`^\./[^/]+/`, message })

const shownOnly = ({ partsShow = '', message }: Layer, depth: number): Pattern => ({
  regex: String.raw`^(?:\.\./){${depth}}[^./][^/]*/${anythingBut([partsShow])}`,
  message,
})

function packagePattern(packages: NonNullable<Layer['packages']>): string {
  if ('never' in packages) return `^(?:${packages.never.map(escaped).join('|')})(?:/|$)`
  return `^${anythingBut(packages.only, '.')}`
}

/** Every text but these, without look-ahead, which the linter's expressions lack; nor any that begins with `except`. */
function anythingBut(texts: readonly string[], except = ''): string {
  const heads = [...new Set(texts.filter((text) => text).map((text) => text.slice(0, 1)))]
  const longer = heads.map((head) => {
    const tails = texts.filter((text) => text.startsWith(head)).map((text) => text.slice(1))
    return `${escaped(head)}${anythingBut(tails)}`
  })
  const others = escaped([...heads, except].join(''))
  const end = texts.includes('') ? [] : ['$']
  return `(?:${[...longer, others ? `[^${others}]` : '.', ...end].join('|')})`
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
