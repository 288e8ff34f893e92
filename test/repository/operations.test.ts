/** An operation has one name: its constant, its verb, the file of the verb, its row in the table of a service, its tool and its command. */
import { Visitor } from 'vite'
import type { ESTree } from 'vite'
import { basename } from 'node:path/posix'
import { describe, expect, test } from 'vitest'
import { TOOLS } from '../../mcp/tools.ts'
import { VERBS as AUTH_VERBS } from '../../oauth/auth-verbs.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { VERBS as DEPLOY_VERBS } from '../../src/http/deploy-verbs.ts'
import { VERBS as GATEWAY_VERBS } from '../../src/http/gateway-verbs.ts'
import { readTree, treeOf, type SourceFile, type Tree } from './source-tree.ts'

const tree = readTree()
const names = OPERATIONS.map(({ name }) => name as string)

describe('every operation', () => {
  test('has the name of its constant, and is in the table', () => {
    expect(misnamedConstants(tree)).toEqual([])
    expect(declaredOperations(tree).map(([constant]) => constant)).toEqual(
      expect.arrayContaining(names.toSorted()),
    )
    expect(declaredOperations(tree)).toHaveLength(names.length)
  })

  test('is done by a verb of its name, in one file of that name', () => {
    expect(names.flatMap((name) => verbProblems(tree, name))).toEqual([])
  })

  test('is in the table of its service', () => {
    const tables = { ...AUTH_VERBS, ...GATEWAY_VERBS, ...DEPLOY_VERBS }
    // Its token may be the bearer, so it has a route of its own: oauth/app.ts.
    expect([...Object.keys(tables), 'validateToken'].toSorted()).toEqual(names.toSorted())
  })

  test('has a route that none before it hides', () => {
    expect(hiddenRoutes(OPERATIONS.map(({ http }) => http))).toEqual([])
  })
})

describe('every tool and command', () => {
  test('a tool calls the operations it names, no others, and all of them are open to a scope', () => {
    expect(toolProblems(tree)).toEqual([])
    const closed = TOOLS.flatMap(({ operations }) => operations).filter(({ scope }) => scope === null)
    expect(closed.map(({ name }) => name)).toEqual([])
  })

  test('a command that has the name of an operation calls it', () => {
    expect(commandProblems(tree, names)).toEqual([])
  })
})

describe('planted mistakes are found', () => {
  test('a constant of another name', () => {
    const planted = "export const revokeGrant = removing({ name: 'endGrant' })"
    expect(misnamedConstants(treeOf([['src/contracts/grants.ts', planted]]))).toEqual([
      'revokeGrant is called endGrant',
    ])
  })

  const WRAPPERS = [
    "import { end } from './end.ts'\nexport const revokeGrant = end",
    "import { end } from './end.ts'\nexport const revokeGrant = (deps) => end(deps)",
    "import { end } from './end.ts'\nexport const revokeGrant = (deps) => (principal, input) => end(deps)(principal, input)",
    "import { end } from './end.ts'\nexport const revokeGrant = (deps) => async (principal, { grant_id }) => { return await end(deps, { ...principal }, grant_id) }",
    "import * as all from './all.ts'\nexport function revokeGrant(deps) { return (principal, input) => all.end(deps.db, principal, input) }",
    "import { end } from './end.ts'\nexport const revokeGrant = write({ audit: 'grant.ended' }, async (context, input) => end(context, input))",
    "import { read } from '../verb.ts'\nimport { end } from './end.ts'\nexport const revokeGrant = read(end)",
    "export { revokeGrant } from './end.ts'",
    'export const somethingElse = 1',
  ]
  test.each(WRAPPERS)('a verb that is none: %s', (text) => {
    expect(verbProblems(treeOf([['src/cores/grants/revoke-grant.ts', text]]), 'revokeGrant')).toHaveLength(1)
  })

  test.each([
    "import { tx } from '../tx.ts'\nexport const revokeGrant = (deps) => (principal) => tx(deps.db, () => stamp(principal))",
    'export const revokeGrant = (deps) => (principal, input) => own(deps, principal, input)\nconst own = () => {}',
    "import { write } from '../verb.ts'\nexport const revokeGrant = write({}, async ({ tx }, { grant_id }) => { await tx.end(grant_id) })",
  ])('and a real one is not: %s', (text) => {
    expect(verbProblems(treeOf([['src/cores/grants/revoke-grant.ts', text]]), 'revokeGrant')).toEqual([])
  })

  test('no file, and two', () => {
    const file = (core: string) =>
      [`src/cores/${core}/revoke-grant.ts`, 'export const revokeGrant = () => async () => ({})'] as const
    expect(verbProblems(treeOf([]), 'revokeGrant')).toHaveLength(1)
    expect(verbProblems(treeOf([file('grants')]), 'revokeGrant')).toEqual([])
    expect(verbProblems(treeOf([file('grants'), file('identity')]), 'revokeGrant')).toHaveLength(1)
  })

  test('a route that is hidden by one before it', () => {
    const [one, summary] = ['/api/deliveries/{id}', '/api/deliveries/summary']
    const routesOf = (...paths: string[]) => paths.map((path) => ({ method: 'get', path }))
    expect(hiddenRoutes(routesOf(one, summary))).toEqual([`${one} hides ${summary}`])
    expect(hiddenRoutes(routesOf(summary, one))).toEqual([])
  })

  test('a tool that calls what it does not name, or names what it does not call', () => {
    const planted = 'tool({ operations: [showQuota, whoAmI], run: (_, { call }) => call(listGrants, {}) })'
    expect(toolProblems(treeOf([['mcp/tools/whoami.ts', planted]]))).toEqual([
      'mcp/tools/whoami.ts names showQuota,whoAmI and calls listGrants',
    ])
  })

  test('a command that calls something else', () => {
    const planted = "export const listApps = (ctx) => ctx.callOperation('createApp', {})"
    const tree = treeOf([['src/cli/commands/apps.ts', planted]])
    expect(commandProblems(tree, ['createApp', 'listApps'])).toEqual(['listApps calls createApp'])
  })
})

const EFFECTS = ['reading', 'creating', 'updating', 'removing']

/** The constants of src/contracts that are operations, with the name that each has in itself. */
function declaredOperations(from: Tree): (readonly [constant: string, name: string])[] {
  const contracts = [...from].filter(
    ([path]) => path.startsWith('src/contracts/') && !path.endsWith('.test.ts'),
  )
  return contracts.flatMap(([, file]) =>
    exportedConstants(file).flatMap(([constant, value]) => {
      if (value.type !== 'CallExpression' || !EFFECTS.includes(rootName(value))) return []
      const [declaration] = value.arguments
      return [[constant, String(literal(property(declaration, 'name')))] as const]
    }),
  )
}

const misnamedConstants = (from: Tree): string[] =>
  declaredOperations(from)
    .filter(([constant, name]) => constant !== name)
    .map(([constant, name]) => `${constant} is called ${name}`)

const fileOf = (name: string): string =>
  `${name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}.ts`

function verbProblems(from: Tree, name: string): string[] {
  const files = [...from].filter(([path]) => path.startsWith('src/cores/') && basename(path) === fileOf(name))
  const [found, ...others] = files
  if (!found || others.length > 0) {
    return [
      `${name} needs one file ${fileOf(name)} in src/cores: ${files.map(([path]) => path).join(', ') || 'none'}`,
    ]
  }
  const [path, file] = found
  const verb = exportedConstants(file).find(([constant]) => constant === name)?.[1]
  if (!verb) return [`${path} declares no ${name}`]
  return isWrapper(verb, importedNames(file)) ? [`${path} only passes ${name} on`] : []
}

/** A name of another file, or a function whose body is one call of such a name with its own parameters. */
function isWrapper(verb: ESTree.Node, imported: ReadonlySet<string>): boolean {
  const parameters = new Set<string>()
  let body: ESTree.Node | null | undefined = withinEnvelope(verb)
  for (;;) {
    if (body?.type === 'AwaitExpression') body = body.argument
    else if (body?.type === 'ReturnStatement') body = body.argument
    else if (body?.type === 'BlockStatement' && body.body.length === 1) body = body.body[0]
    else if (body?.type === 'ArrowFunctionExpression' || body?.type === 'FunctionDeclaration') {
      for (const parameter of body.params) for (const each of identifiersIn(parameter)) parameters.add(each)
      body = body.body
    } else break
  }
  if (!body || !imported.has(rootName(body))) return false
  if (body.type === 'Identifier') return true
  for (let call: ESTree.Node = body; call.type === 'CallExpression'; call = call.callee) {
    if (!call.arguments.every((argument) => isOwn(argument, parameters))) return false
  }
  return true
}

const ENVELOPES = ['read', 'write', 'writeInSteps', 'list']

/** What the envelope is given to do. */
const withinEnvelope = (verb: ESTree.Node): ESTree.Node =>
  verb.type === 'CallExpression' && ENVELOPES.includes(rootName(verb)) ? verb.arguments.at(-1)! : verb

/** Made of nothing but the parameters. */
function isOwn(node: ESTree.Node, parameters: ReadonlySet<string>): boolean {
  if (node.type === 'Identifier') return parameters.has(node.name)
  if (node.type === 'MemberExpression') return isOwn(node.object, parameters)
  if (node.type === 'SpreadElement') return isOwn(node.argument, parameters)
  if (node.type === 'Property') return isOwn(node.value, parameters)
  return node.type === 'ObjectExpression' && node.properties.every((each) => isOwn(each, parameters))
}

/** Rows of the tables of verbs: the key, and the last name of its value. */
type Route = { readonly method: string; readonly path: string }

/** Routes are matched in the order of the table. */
function hiddenRoutes(routes: readonly Route[]): string[] {
  return routes.flatMap((route, at) =>
    routes
      .slice(0, at)
      .filter(({ method, path }) => method === route.method && fits(path, route.path))
      .map(({ path }) => `${path} hides ${route.path}`),
  )
}

function fits(pattern: string, path: string): boolean {
  const [parts, others] = [pattern.split('/'), path.split('/')]
  return (
    parts.length === others.length && parts.every((part, at) => part.startsWith('{') || part === others[at])
  )
}

function toolProblems(from: Tree): string[] {
  return [...from].flatMap(([path, file]) => {
    if (!path.startsWith('mcp/tools/') || path.endsWith('.test.ts')) return []
    const named = new Set<string>()
    const called = new Set<string>()
    new Visitor({
      Property: ({ key, value }) => {
        if (key.type !== 'Identifier' || key.name !== 'operations' || value.type !== 'ArrayExpression') return
        for (const each of value.elements) if (each?.type === 'Identifier') named.add(each.name)
      },
      CallExpression: ({ callee, arguments: [first] }) => {
        const isCall =
          (callee.type === 'Identifier' && callee.name === 'call') ||
          (callee.type === 'MemberExpression' &&
            callee.property.type === 'Identifier' &&
            callee.property.name === 'call')
        if (isCall && first?.type === 'Identifier') called.add(first.name)
      },
    }).visit(file.program)
    const [left, right] = [[...named].toSorted().join(), [...called].toSorted().join()]
    return left === right ? [] : [`${path} names ${left} and calls ${right}`]
  })
}

function commandProblems(from: Tree, operations: readonly string[]): string[] {
  return [...from].flatMap(([path, file]) => {
    if (!path.startsWith('src/cli/commands/') || path.endsWith('.test.ts')) return []
    return exportedConstants(file).flatMap(([command, value]) => {
      if (!operations.includes(command)) return []
      const texts = [...file.text.slice(value.start, value.end).matchAll(/'(\w+)'/g)].map(([, text]) => text!)
      const called = texts.filter((text) => operations.includes(text))
      return called.includes(command) ? [] : [`${command} calls ${called.join() || 'nothing'}`]
    })
  })
}

/** What a file declares and exports: constants with their value, functions with themselves. */
function exportedConstants({ program }: SourceFile): (readonly [name: string, value: ESTree.Node])[] {
  return program.body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration') return []
    const { declaration } = node
    if (declaration?.type === 'FunctionDeclaration' && declaration.id) {
      return [[declaration.id.name, declaration] as const]
    }
    if (declaration?.type !== 'VariableDeclaration') return []
    return declaration.declarations.flatMap(({ id, init }) =>
      id.type === 'Identifier' && init ? [[id.name, init] as const] : [],
    )
  })
}

const importedNames = ({ program }: SourceFile): ReadonlySet<string> =>
  new Set(
    program.body.flatMap((node) =>
      node.type === 'ImportDeclaration' ? node.specifiers.map(({ local }) => local.name) : [],
    ),
  )

/** `a` of `a`, `a.b` and `a(…)(…)`. */
function rootName(node: ESTree.Node): string {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'MemberExpression') return rootName(node.object)
  return node.type === 'CallExpression' ? rootName(node.callee) : ''
}

/** The names that a parameter binds. */
function identifiersIn(node: ESTree.Node | null): string[] {
  if (node?.type === 'Identifier') return [node.name]
  if (node?.type === 'AssignmentPattern') return identifiersIn(node.left)
  if (node?.type === 'RestElement') return identifiersIn(node.argument)
  if (node?.type === 'Property') return identifiersIn(node.value)
  if (node?.type === 'ObjectPattern') return node.properties.flatMap(identifiersIn)
  return node?.type === 'ArrayPattern' ? node.elements.flatMap(identifiersIn) : []
}

function property(node: ESTree.Node | undefined, key: string): ESTree.Node | undefined {
  if (node?.type !== 'ObjectExpression') return undefined
  for (const each of node.properties) {
    if (each.type === 'Property' && each.key.type === 'Identifier' && each.key.name === key) return each.value
  }
  return undefined
}

const literal = (node: ESTree.Node | undefined): unknown =>
  node?.type === 'Literal' ? node.value : undefined
