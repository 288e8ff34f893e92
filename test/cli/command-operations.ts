/** Which operations each command of `svc` calls: of its contract, and read from its source, so that no table repeats it. */
import type { ESTree } from 'vite'
import { OPERATION_CALLS } from '../../src/cli/operation-calls.ts'
import { filesUnder, readText, treeOf } from '../repository/source-tree.ts'

const FOLDER = 'src/cli'

/** By the path of the command; a command that calls no server has none. */
export function commandOperations(): Map<string, string[]> {
  const found = new Map<string, string[]>(
    Object.entries(OPERATION_CALLS).map(([path, { operation }]) => [path, [operation]]),
  )
  for (const file of filesUnder(`${FOLDER}/rows`)) {
    for (const node of nodesIn(treeOf([[file, readText(file)]]).get(file)!.program)) {
      const path = node.type === 'ObjectExpression' && propertyOf(node, 'path')
      const load = node.type === 'ObjectExpression' && propertyOf(node, 'load')
      if (!path || !load) continue
      const [module, name] = loadedFrom(load)
      const declared = found.get(stringIn(path)) ?? []
      found.set(stringIn(path), [...new Set([...declared, ...operationsOf(declarationsIn(module), name)])])
    }
  }
  return found
}

/** `async () => (await import('../commands/psql.ts')).openPsql` loads `openPsql` from `../commands/psql.ts`. */
function loadedFrom(load: ESTree.Node): [module: string, name: string] {
  for (const node of nodesIn(load)) {
    if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') continue
    const imported = [...nodesIn(node.object)].find(({ type }) => type === 'ImportExpression')
    if (imported?.type === 'ImportExpression') return [stringIn(imported.source), node.property.name]
  }
  throw new Error('a command loads nothing')
}

type Declarations = ReadonlyMap<string, ESTree.Node>

function declarationsIn(module: string): Declarations {
  const statements = programOf(module).body.map((statement) =>
    statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement,
  )
  return new Map(
    statements.flatMap((statement): [string, ESTree.Node][] => {
      if (statement?.type === 'FunctionDeclaration' && statement.id) return [[statement.id.name, statement]]
      if (statement?.type !== 'VariableDeclaration') return []
      return statement.declarations.map((one) => [one.id.type === 'Identifier' ? one.id.name : '', one])
    }),
  )
}

/** Those that the function names, and those of the functions of its module that it uses. */
function operationsOf(declarations: Declarations, name: string, seen = new Set<string>()): string[] {
  const declaration = declarations.get(name)
  if (!declaration || seen.has(name)) return []
  seen.add(name)
  const found = [...nodesIn(declaration)].flatMap((node) => {
    if (node.type === 'Identifier') return operationsOf(declarations, node.name, seen)
    const named = node.type === 'CallExpression' && node.arguments[operationAt(node.callee)]
    return named ? [stringIn(named)] : []
  })
  return [...new Set(found)]
}

/** Where the call has the name of the operation, as `ctx.callOperation`, `ctx.clientFor(…)` and `readPages` do. */
function operationAt(callee: ESTree.Node): number {
  if (callee.type === 'CallExpression') return methodOf(callee.callee) === 'clientFor' ? 0 : -1
  if (callee.type === 'Identifier') return callee.name === 'readPages' ? 2 : -1
  return methodOf(callee) === 'callOperation' ? 0 : -1
}

const methodOf = (callee: ESTree.Node): string | undefined =>
  callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
    ? callee.property.name
    : undefined

function programOf(module: string): ESTree.Program {
  const path = `${FOLDER}/${module.replace('../', '')}`
  return treeOf([[path, readText(path)]]).get(path)!.program
}

const propertyOf = ({ properties }: ESTree.ObjectExpression, name: string): ESTree.Node | undefined => {
  const found = properties.find(
    (one) => one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === name,
  )
  return found?.type === 'Property' ? found.value : undefined
}

function stringIn(node: ESTree.Node): string {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  throw new Error(`a ${node.type} stands where the name should be a string`)
}

function* nodesIn(value: unknown): Generator<ESTree.Node> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && typeof value.type === 'string') yield value as ESTree.Node
  for (const child of Object.values(value)) yield* nodesIn(child)
}
