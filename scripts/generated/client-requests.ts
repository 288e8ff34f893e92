/** src/cli/requests.ts: the method and path of each operation, so that the client calls it without loading zod. */
import { typesOf } from '../../src/contracts/media-types.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'

export const clientRequests = (): string =>
  [
    '/** How each operation is called. Written by `npm run generate` from the contracts; do not edit. */',
    "import type { OperationName } from '../contracts/operations.ts'",
    '',
    'export const REQUESTS = {',
    ...(OPERATIONS as readonly Operation[])
      .filter(({ access }) => access !== 'operator')
      .map((op) => `  ${op.name}: ['${op.http.method.toUpperCase()}', '${op.http.path}'${moreOf(op)}],`),
    '} as const satisfies { readonly [Name in OperationName]?: Request }',
    '',
    '/** `takes`: the type of a body that is not JSON. `gives`: the answer is not. `headers`: fields that are sent as such. */',
    'export type Request = readonly [',
    '  method: string,',
    '  path: string,',
    '  more?: {',
    '    readonly takes?: string',
    '    readonly gives?: true',
    '    readonly headers?: Readonly<Record<string, string>>',
    '  },',
    ']',
    '',
  ].join('\n')

function moreOf({ http: { takes, gives, headers } }: Operation): string {
  const parts = [
    ...(takes ? [`takes: '${typesOf(takes.type)[0]}'`] : []),
    ...(gives ? ['gives: true'] : []),
    ...(headers
      ? [
          `headers: { ${Object.entries(headers)
            .map(([field, header]) => `${field}: '${header}'`)
            .join(', ')} }`,
        ]
      : []),
  ]
  return parts.length === 0 ? '' : `, { ${parts.join(', ')} }`
}
