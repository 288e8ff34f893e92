/** src/cli/requests.ts: how the client calls each operation, and with which types, without loading zod. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OPERATIONS } from '../../src/contracts/operations.ts'

const CONTRACTS = join(import.meta.dirname, '../../src/contracts')

type Place = { readonly module: string; readonly exported: string }

/** Where each operation is declared, so that its types can be named. */
const PLACES = new Map<unknown, Place>()
for (const file of readdirSync(CONTRACTS).toSorted()) {
  if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === 'operations.ts') continue
  const loaded = (await import(pathToFileURL(join(CONTRACTS, file)).href)) as Record<string, unknown>
  for (const [exported, value] of Object.entries(loaded)) {
    PLACES.set(value, { module: file.slice(0, -'.ts'.length), exported })
  }
}

export function clientRequests(): string {
  const operations = OPERATIONS.filter(({ who }) => who !== 'operator').map((operation) => {
    const place = PLACES.get(operation)
    if (!place) throw new Error(`No contract exports ${operation.name}`)
    const { method, path } = operation.http
    return { name: operation.name, method, path, ...place }
  })
  const modules = [...new Set(operations.map(({ module }) => module))].toSorted()
  return [
    '/** How each operation is called. Written by `npm run generate` from the contracts; do not edit. */',
    ...modules.map((module) => `import type * as ${local(module)} from '../contracts/${module}.ts'`),
    '',
    'export type Operations = {',
    ...operations.map((op) => `  '${op.name}': typeof ${local(op.module)}.${op.exported}`),
    '}',
    '',
    'export const REQUESTS = {',
    ...operations.map((op) => `  '${op.name}': ['${op.method.toUpperCase()}', '${op.path}'],`),
    '} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>',
    '',
  ].join('\n')
}

const local = (module: string): string =>
  module.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
