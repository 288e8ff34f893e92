/** A tool: it names its operations, which determine its scopes, its minimum role and its hints. */
import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { Call } from '../src/client/http-client.ts'
import type { Operation } from '../src/contracts/operation.ts'
import { atLeast, RoleName, type Role } from '../src/contracts/roles.ts'
import { SCOPE_NAMES, type Resource, type Scope } from '../src/contracts/scopes.ts'
import type { McpPrincipal } from './authenticate.ts'

/** A tool of the endpoint that the principal does not see, as `whoami` reports it. */
export type HiddenTool = { readonly tool: string; readonly why: string }

/** What the URL of the endpoint leaves of its tools and data sources. */
export type Narrowing = {
  readonly readOnly: boolean
  /** Names of tools; undefined: all. */
  readonly tools: ReadonlySet<string> | undefined
  /** Ids of data sources (`db_…`); undefined: all that may be queried. */
  readonly sources: ReadonlySet<string> | undefined
}

/** What a tool has during one call. */
export type ToolContext = {
  /** Calls the gateway for the principal. */
  call: Call
  principal: McpPrincipal
  narrowing: Narrowing
  hidden: readonly HiddenTool[]
  appUrl: URL
}

type ToolDefinition<Input extends z.ZodObject> = {
  name: string
  resource: Resource
  title: string
  description: string
  /** Every operation it calls. */
  operations: readonly Operation[]
  input: Input
  /** Only where code reads the answer: a model reads the text and would pay for both. */
  output?: ListedTool['outputSchema']
  /** Whether the answer contains what other people wrote. */
  isUntrusted?: boolean
  /** The answer to NOT_FOUND: the same for what does not exist and what is hidden. */
  notFoundText?: string
  run(input: z.output<Input>, context: ToolContext): Promise<object>
}

export type Tool = Omit<ToolDefinition<z.ZodObject>, 'run'> & {
  /** One call needs all of them. */
  scopes: readonly Scope[]
  minimumRole: Role
  isReadOnly: boolean
  /** Its entry in `tools/list`, built once: servers are created for every request. */
  listed: ListedTool
  run(input: unknown, context: ToolContext): Promise<object>
}

export function tool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { name, title, description, operations, input, output } = definition
  const isReadOnly = operations.every(({ readOnly }) => readOnly)
  const annotations = {
    title,
    readOnlyHint: isReadOnly,
    destructiveHint: operations.some(({ destructive }) => destructive),
    idempotentHint: operations.every(({ idempotent }) => idempotent),
    // Everything it reaches belongs to the organization.
    openWorldHint: false,
  }
  return {
    ...definition,
    scopes: scopesOf(operations),
    minimumRole: highestRoleOf(operations),
    isReadOnly,
    listed: {
      name,
      title,
      description,
      inputSchema: publishedSchema(input),
      ...(output ? { outputSchema: output } : {}),
      annotations,
    },
    run: (given, context) => definition.run(given as z.output<Input>, context),
  }
}

/** Without the scopes of app tokens, which no assistant has. */
const scopesOf = (operations: readonly Operation[]): Scope[] =>
  SCOPE_NAMES.filter((name) => operations.some(({ scope }) => scope === name))

const highestRoleOf = (operations: readonly Operation[]): Role =>
  operations
    .flatMap(({ access }) => RoleName.safeParse(access).data ?? [])
    .reduce<Role>((highest, role) => (atLeast(role, highest) ? role : highest), 'viewer')

/** Without `$schema`: clients assume 2020-12, and every conversation pays for every token. */
function publishedSchema(input: z.ZodObject): ListedTool['inputSchema'] {
  const { $schema: _assumed, ...json } = z.toJSONSchema(input, {
    target: 'draft-2020-12',
    io: 'input',
    // Names in a JSON object are always strings.
    override: ({ jsonSchema }) => void delete jsonSchema.propertyNames,
  })
  return json as ListedTool['inputSchema']
}

/** Checks a contract's rule without publishing its pattern, which would cost more tokens than it explains. */
export const hidePattern = (rule: z.ZodType<unknown, string>) =>
  z.string().superRefine((text, context) => {
    for (const { message } of rule.safeParse(text).error?.issues ?? []) context.addIssue(message)
  })
