/** What a tool is: a row that names its operations, from which its scopes, its minimum role and its hints are read off. */
import type { Tool as Listed } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { Call } from '../src/client/call.ts'
import type { Operation } from '../src/contracts/operation.ts'
import { atLeast, RoleName, type Role } from '../src/contracts/roles.ts'
import type { Resource, Scope } from '../src/contracts/scopes.ts'
import type { Entrant } from './bearer.ts'
import type { Hidden } from './choose-tools.ts'
import type { Narrowing } from './narrowing.ts'

/** What a tool works with during one call. */
export type Workplace = {
  /** The gateway, on behalf of whoever the agent acts for. */
  call: Call
  entrant: Entrant
  narrowing: Narrowing
  hidden: readonly Hidden[]
  appUrl: URL
}

type Row<Input extends z.ZodObject> = {
  name: string
  resource: Resource
  title: string
  description: string
  /** Everything it calls. */
  operations: readonly Operation[]
  input: Input
  /** Only where code reads the answer; a model reads the text, and would pay for both. */
  output?: Listed['outputSchema']
  /** Whether the answer quotes what others wrote. */
  isUntrusted?: boolean
  /** Said of what is not there: the same for what does not exist and what is hidden. */
  unknown?: string
  run(input: z.output<Input>, at: Workplace): Promise<object>
}

export type Tool = Omit<Row<z.ZodObject>, 'run'> & {
  /** All that one call needs. */
  scopes: readonly Scope[]
  minimumRole: Role
  isReadOnly: boolean
  /** As `tools/list` shows it: made once, since servers are made anew for every request. */
  listed: Listed
  run(input: unknown, at: Workplace): Promise<object>
}

export function tool<Input extends z.ZodObject>(row: Row<Input>): Tool {
  const { name, title, description, operations, input, output } = row
  const isReadOnly = operations.every(({ readOnly }) => readOnly)
  const annotations = {
    title,
    readOnlyHint: isReadOnly,
    destructiveHint: operations.some(({ destructive }) => destructive),
    idempotentHint: operations.every(({ idempotent }) => idempotent),
    // Everything it can reach belongs to the organization.
    openWorldHint: false,
  }
  return {
    ...row,
    scopes: scopesOf(operations),
    minimumRole: highestOf(operations),
    isReadOnly,
    listed: {
      name,
      title,
      description,
      inputSchema: published(input),
      ...(output ? { outputSchema: output } : {}),
      annotations,
    },
    run: (given, at) => row.run(given as z.output<Input>, at),
  }
}

const scopesOf = (operations: readonly Operation[]): Scope[] => [
  ...new Set(operations.flatMap(({ scope }) => (scope === null || scope === 'any' ? [] : [scope]))),
]

const highestOf = (operations: readonly Operation[]): Role =>
  operations
    .flatMap(({ who }) => RoleName.safeParse(who).data ?? [])
    .reduce<Role>((highest, role) => (atLeast(role, highest) ? role : highest), 'viewer')

/** Without `$schema`: 2020-12 is what clients assume, and every word is paid for by every conversation. */
function published(input: z.ZodObject): Listed['inputSchema'] {
  const { $schema: _understood, ...json } = z.toJSONSchema(input, {
    target: 'draft-2020-12',
    io: 'input',
    // That the names of a JSON object are text goes without saying.
    override: ({ jsonSchema }) => void delete jsonSchema.propertyNames,
  })
  return json as Listed['inputSchema']
}

/** A contract's rule for a text, kept to ourselves: published, its pattern would cost more than it explains. */
export const unpublished = (rule: z.ZodType<unknown, string>) =>
  z.string().superRefine((text, context) => {
    for (const { message } of rule.safeParse(text).error?.issues ?? []) context.addIssue(message)
  })
