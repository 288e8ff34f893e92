/** A tool: it names its operations, which determine its scopes, its minimum role and its hints. */
import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { Call } from '../src/client/http-client.ts'
import type { Operation } from '../src/contracts/operation.ts'
import { atLeast, RoleName, type Role } from '../src/contracts/roles.ts'
import { SCOPE_NAMES, type Resource, type Scope } from '../src/contracts/scopes.ts'
import type { McpPrincipal } from './authenticate.ts'
import type { CardAnswer } from './card-answer.ts'
import { cardUri, type ChatCard } from './chat-card.ts'
import type { ClientAbilities } from './client-abilities.ts'
import type { ProtocolAnswer } from './protocol-answer.ts'

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
  client: ClientAbilities
}

type ToolDefinition<Input extends z.ZodObject> = {
  name: string
  resource: Resource
  title: string
  description: string
  /** Every operation it calls. */
  operations: readonly Operation[]
  /** Where its operations answer to more people than can do anything with it. */
  minimumRole?: Role
  /** Clients ask their users before they call it, although nothing is lost that could not be had back. */
  isDestructive?: true
  input: Input
  /** Only where code reads the answer: a model reads the text and would pay for both. */
  output?: ListedTool['outputSchema']
  /** Whether the answer contains what other people wrote. */
  isUntrusted?: boolean
  /** The answer to NOT_FOUND: the same for what does not exist and what is hidden. */
  notFoundText?: string
  /** What a chat may draw its answer with. The answer is the same for chats that draw nothing. */
  card?: ChatCard
  run(input: z.output<Input>, context: ToolContext): Promise<object | ProtocolAnswer | CardAnswer>
}

export type Tool = Omit<ToolDefinition<z.ZodObject>, 'run' | 'minimumRole'> & {
  /** One call needs all of them. */
  scopes: readonly Scope[]
  minimumRole: Role
  isReadOnly: boolean
  /** Its entry in `tools/list`, built once: servers are created for every request. */
  listed: ListedTool
  run(input: unknown, context: ToolContext): Promise<object | ProtocolAnswer | CardAnswer>
}

export function tool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { name, title, description, operations, input, output, card } = definition
  const isReadOnly = operations.every(({ readOnly }) => readOnly)
  // Without a title of their own, which every conversation would pay for twice.
  const annotations = {
    readOnlyHint: isReadOnly,
    destructiveHint: definition.isDestructive ?? operations.some(({ destructive }) => destructive),
    // Says something only of what changes something.
    ...(!isReadOnly && { idempotentHint: operations.every(({ idempotent }) => idempotent) }),
    // Everything it reaches belongs to the organization.
    openWorldHint: false,
  }
  return {
    ...definition,
    scopes: scopesOf(operations),
    minimumRole: definition.minimumRole ?? highestRoleOf(operations),
    isReadOnly,
    listed: {
      name,
      title,
      description,
      inputSchema: publishedSchema(input),
      ...(output ? { outputSchema: output } : {}),
      annotations,
      ...(card && { _meta: { ui: { resourceUri: cardUri(card) } } }),
      // SEP-1865: a host refuses to call it for a card, whatever that card is.
      ...(definition.isDestructive && { _meta: { ui: { visibility: ['model'] } } }),
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
    override: ({ jsonSchema }) => {
      // Names in a JSON object are always strings.
      delete jsonSchema.propertyNames
      // Checked all the same. No model counts characters, and whoever is over a limit is told so.
      delete jsonSchema.minLength
      delete jsonSchema.maxLength
      delete jsonSchema.maxItems
    },
  })
  return json as ListedTool['inputSchema']
}

/** Checks a contract's rule without publishing its pattern, which would cost more tokens than it explains. */
export const hidePattern = (rule: z.ZodType<unknown, string>) =>
  z.string().superRefine((text, context) => {
    for (const { message } of rule.safeParse(text).error?.issues ?? []) context.addIssue(message)
  })
