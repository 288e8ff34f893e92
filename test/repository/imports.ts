/** Checks of what the files of a tree import and reach for: layers, circles, the environment, the clock. */
import { Visitor } from 'vite'
import type { ESTree } from 'vite'
import { LAYERS, layerOf, mayImport, type Layer, type LayerName } from './layers.ts'
import type { Import, SourceFile, Tree } from './source-tree.ts'

/** Every import that the table of layers forbids, as sentences. */
export function forbiddenImports(tree: Tree): string[] {
  return [...tree].flatMap(([path, { imports }]) => {
    const layer = layerOf(path)
    if (!layer) return [`${path} belongs to no layer: give it one in test/repository/layers.ts`]
    return imports
      .filter((found) => !(found.ours ? isOpen(layer, path, found) : isAllowed(LAYERS[layer], found.to)))
      .map((found) => `${path} imports ${found.to}: ${LAYERS[layer].message}`)
  })
}

function isOpen(from: LayerName, path: string, { to, typeOnly }: Import): boolean {
  const target = layerOf(to)
  // Not code of a layer (package.json, a text file): read, not imported from.
  if (target === undefined) return true
  const { partsShow, mayImportFiles } = LAYERS[from]
  if (from === target) return !partsShow || mayMeet(path, to, partsShow)
  const how = mayImport(from, target)
  return how === 'values' || (how === 'types' && typeOnly) || (mayImportFiles?.includes(to) ?? false)
}

function mayMeet(path: string, to: string, shown: string): boolean {
  const [from, target] = [partOf(path), partOf(to)]
  return target === undefined || target === from || (from !== undefined && to === `${target}/${shown}`)
}

const partOf = (path: string): string | undefined => /^src\/[^/]+\/[^/]+(?=\/)/.exec(path)?.[0]

function isAllowed({ packages }: Layer, specifier: string): boolean {
  if (!packages) return true
  const within = (name: string) => specifier === name || specifier.startsWith(`${name}/`)
  return 'only' in packages ? packages.only.includes(specifier) : !packages.never.some(within)
}

/** Circles of imports; also of types alone, which load but cannot be read one at a time. */
export function importCircles(tree: Tree): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    for (const { ours, to } of tree.get(path)?.imports ?? []) {
      if (ours && to !== path) visit(to, [...trail, path])
    }
    done.add(path)
  }
  for (const path of tree.keys()) visit(path, [])
  return circles
}

/**
 * Files that load drizzle themselves. As modules it is another one than db/drizzle.ts loads, with other classes: an error of
 * the one is no instance of the other's.
 */
export const loadersOfDrizzle = (tree: Tree): string[] =>
  [...tree]
    .filter(([path]) => path !== 'db/drizzle.ts')
    .filter(([, { imports }]) =>
      imports.some(({ to, typeOnly }) => !typeOnly && /^drizzle-orm(\/|$)/.test(to)),
    )
    .map(([path]) => path)

/** The server's settings and those of the client, which is another program. */
const MAY_READ_THE_ENVIRONMENT = [
  'src/boot/config.ts',
  'src/boot/main.ts',
  'src/cli/environment.ts',
  'sdk/worker/src/environment.ts',
]

/** Files of the product other than those two that read the environment. */
export function readersOfTheEnvironment(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => layerOf(path) !== 'tooling' && !MAY_READ_THE_ENVIRONMENT.includes(path))
    .filter(([, file]) => readsEnvironment(file))
    .map(([path]) => path)
}

function readsEnvironment({ imports, program }: SourceFile): boolean {
  let reads = imports.some(({ to, typeOnly }) => !typeOnly && /^(node:)?process$/.test(to))
  new Visitor({
    MemberExpression: (node) => {
      if (nameOf(node) === 'process.env' || (node.computed && nameOf(node.object) === 'process')) reads = true
    },
    VariableDeclarator: ({ id, init }) => {
      if (id.type === 'ObjectPattern' && nameOf(init) === 'process') reads = true
    },
  }).visit(program)
  return reads
}

/** Where cores ask the machine for the time or the network, which are passed in to them. */
export const coresThatReachOut = (tree: Tree): string[] =>
  usesOf(tree, (path) => layerOf(path) === 'cores', [
    'fetch',
    'globalThis.fetch',
    'performance.now',
    ...CLOCK,
  ])

/**
 * Where the tests of the whole system read the machine's time, which passes while they run: their own clock is
 * moved. A process of its own (process.test.ts) has real time.
 */
export const testsThatReadTheClock = (tree: Tree): string[] =>
  usesOf(tree, (path) => READS_NO_TIME.test(path), CLOCK)

const CLOCK = ['Date', 'Date.now']
const READS_NO_TIME = /^test\/(walks\/(?!process\.)|support\/system\.ts$)/

/** Walks and units that measure how long something took, which whatever else the machine does decides, too. */
export const testsThatMeasureTime = (tree: Tree): string[] =>
  [...tree.keys()].filter(
    (path) => WALK_OR_UNIT.test(path) && usesOf(tree, (one) => one === path, ['performance.now']).length > 0,
  )

const WALK_OR_UNIT = /^(?:test\/walks\/|(?!test\/).+\.test\.ts$)/

/** Those that may, and why. */
export const MAY_MEASURE: Readonly<Record<string, string>> = {
  'sdk/worker/src/worker.test.ts': 'a claim was made when the worker’s own clock says',
  'src/adapters/log-matching/log-matching.test.ts': 'what a thread does is given up after real time',
  'src/cores/work/wait.test.ts': 'the pauses are real, and only known to be no shorter',
  'test/walks/logs.test.ts': 'the longer it takes, the more often somebody may be told',
  'test/walks/receipts.test.ts': 'the longer it takes, the more often each process looks',
}

function usesOf(tree: Tree, inside: (path: string) => boolean, names: readonly string[]): string[] {
  return [...tree.keys()].filter(inside).flatMap((path) => {
    const found: string[] = []
    new Visitor({
      CallExpression: ({ callee }) => {
        if (callee.type === 'Identifier' && names.includes(callee.name))
          found.push(`${path} calls ${callee.name}`)
      },
      MemberExpression: (node) => {
        if (names.includes(nameOf(node))) found.push(`${path} uses ${nameOf(node)}`)
      },
      // With an argument it only turns a number or a text into a date.
      NewExpression: (node) => {
        if (nameOf(node.callee) === 'Date' && names.includes('Date') && node.arguments.length === 0)
          found.push(`${path} says new Date()`)
      },
    }).visit(tree.get(path)!.program)
    return found
  })
}

/** `a` or `a.b` as it is written, '' for anything longer. */
function nameOf(node: ESTree.Node | null | undefined): string {
  if (node?.type === 'Identifier') return node.name
  if (node?.type !== 'MemberExpression' || node.computed) return ''
  return node.object.type === 'Identifier' && node.property.type === 'Identifier'
    ? `${node.object.name}.${node.property.name}`
    : ''
}
