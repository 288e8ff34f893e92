/**
 * The table of operations, read off the contracts, and the table of verbs of each service: the verb of an operation is in
 * the file of its name. It imports none of these tables, so one run is enough for a new operation.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import type { Operation, OperationService } from '../../src/contracts/operation.ts'

const ROOT = join(import.meta.dirname, '../..')

/** In the order of the API's documentation; further ones follow by name. */
const CONTRACTS = `
  people installation organizations members sessions access tokens workloads audit grants
  machine-agents identity-provider databases loads embeddings data-sources activity inbox apps
  deployments revisions app-tokens logs tickets checks pipelines maintenance proposals support
  integrations subscriptions deliveries
`
  .trim()
  .split(/\s+/)

type Declared = { readonly contract: string; readonly operation: Operation }

async function readContracts(): Promise<Declared[]> {
  const found = globSync('*.ts', { cwd: join(ROOT, 'src/contracts') })
    .filter((file) => !file.endsWith('.test.ts') && file !== 'operations.ts' && file !== 'all-operations.ts')
    .map((file) => basename(file, '.ts'))
    .toSorted()
  const others = found.filter((name) => !CONTRACTS.includes(name))
  const modules = await Promise.all([...CONTRACTS, ...others].map(readContract))
  return modules.flat()
}

/** In the order in which they are written. */
async function readContract(contract: string): Promise<Declared[]> {
  const path = join(ROOT, `src/contracts/${contract}.ts`)
  const text = readFileSync(path, 'utf8')
  const exported = (await import(path)) as Readonly<Record<string, unknown>>
  return Object.entries(exported)
    .flatMap(([name, value]) => (isOperation(value) ? [{ name, value }] : []))
    .toSorted((one, two) => placeOf(text, one.name) - placeOf(text, two.name))
    .map(({ value }) => ({ contract, operation: value }))
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'service' in value && 'http' in value
}

const placeOf = (text: string, name: string): number => text.indexOf(`export const ${name} =`)

const DECLARED: readonly Declared[] = await readContracts()

const HEADER = 'Written by `npm run generate` from the contracts; do not edit.'
const compareTexts = (one: string, two: string): number => (one < two ? -1 : one > two ? 1 : 0)

function operationTable(): string {
  const contracts = [...new Set(DECLARED.map(({ contract }) => contract))]
  return [
    `/** Every operation. ${HEADER} */`,
    ...contracts.toSorted(compareTexts).map((name) => `import * as ${camelCase(name)} from './${name}.ts'`),
    '',
    'export const OPERATIONS = [',
    ...DECLARED.map(({ contract, operation: { name } }) => `  ${camelCase(contract)}.${name},`),
    '] as const',
    '',
  ].join('\n')
}

/** Its token may be the bearer, so it has a route of its own: oauth/app.ts. */
const OWN_ROUTES = ['validateToken']

function verbTable(service: OperationService, folder: string): string {
  const names = DECLARED.map(({ operation }) => operation)
    .filter((operation) => operation.service === service && !OWN_ROUTES.includes(operation.name))
    .map(({ name }) => name)
  const imports = names.map((name) => [relative(folder, verbFile(name)), name] as const)
  return [
    `/** The verb of each operation of the ${service}. ${HEADER} */`,
    ...imports
      .toSorted(([one], [two]) => compareTexts(one, two))
      .map(([path, name]) => `import { ${name} } from '${path.startsWith('.') ? path : `./${path}`}'`),
    '',
    'export const VERBS = {',
    ...names.map((name) => `  ${name},`),
    '}',
    '',
  ].join('\n')
}

const VERB_FILES = globSync('src/cores/**/*.ts', { cwd: ROOT })

function verbFile(name: string): string {
  const file = `${name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}.ts`
  const [found, ...others] = VERB_FILES.filter((path) => basename(path) === file)
  if (found && others.length === 0) return found
  throw new Error(`${name} needs one file ${file} in src/cores that exports its verb`)
}

const camelCase = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Other generated files are read off the table of operations: these are written before them. */
export const OPERATION_TABLES = [
  { path: 'src/contracts/all-operations.ts', text: operationTable },
  { path: 'src/http/gateway-verbs.ts', text: () => verbTable('api-gateway', 'src/http') },
  { path: 'src/http/deploy-verbs.ts', text: () => verbTable('deploy-api', 'src/http') },
  { path: 'oauth/auth-verbs.ts', text: () => verbTable('auth-service', 'oauth') },
]
