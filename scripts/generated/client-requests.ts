/** src/cli/requests.ts: the method and path of each operation, so that the client calls it without loading zod. */
import { OPERATIONS } from '../../src/contracts/operations.ts'

export const clientRequests = (): string =>
  [
    '/** How each operation is called. Written by `npm run generate` from the contracts; do not edit. */',
    "import type { OperationName } from '../contracts/operations.ts'",
    '',
    'export const REQUESTS = {',
    ...OPERATIONS.filter(({ access }) => access !== 'operator').map(
      ({ name, http }) => `  ${name}: ['${http.method.toUpperCase()}', '${http.path}'],`,
    ),
    '} as const satisfies { readonly [Name in OperationName]?: readonly [method: string, path: string] }',
    '',
  ].join('\n')
