/** The part of the fake gateway with machine agents; their grants are among those of everybody. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import type { Grant as GrantShape } from '../../src/contracts/grants.ts'
import * as contract from '../../src/contracts/machine-agents.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { atLeast, type Role } from '../../src/contracts/roles.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Agent = z.output<typeof contract.MachineAgent>
type Credential = z.output<typeof contract.MachineAgentCredential>
type Grant = z.output<typeof GrantShape>
type Person = { user_id: string; name: string; email: string; role: Role }

/** Fixed, so that tests can name its page. */
export const SEEDED_MACHINE_AGENT = `mch_${'0'.repeat(25)}`

export type FakeMachineAgents = ReturnType<typeof fakeMachineAgents>

export function fakeMachineAgents(
  { on, list, id, clock, me, organizationOf }: FakeContext,
  { members, grants }: { readonly members: readonly Person[]; readonly grants: Grant[] },
) {
  const data = { agents: [] as Agent[], given: [] as z.output<typeof contract.createMachineAgent.input>[] }
  const now = () => clock().toISOString()
  const own = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, role: Role) => unknown,
  ) =>
    on(operation, (input, asked) => {
      const { role } = organizationOf(asked)
      if (!atLeast(role, operation.access as Role)) throw new ServiceError('FORBIDDEN')
      return handle(input, role)
    })
  const visible = (role: Role): Agent[] =>
    data.agents.filter((one) => atLeast(role, 'admin') || one.owner.id === me.id).map(withGrant)
  const withGrant = (agent: Agent): Agent => {
    const grant = grants.find((one) => one.machine_agent_id === agent.id)
    return Object.assign(agent, {
      grant_id: grant?.id ?? null,
      scopes: grant?.scopes ?? [],
      sources: grant ? grant.sources : [],
      state: grant ? agent.state : 'disconnected',
    })
  }
  const agentOf = (role: Role, agentId: string): Agent => {
    const agent = visible(role).find((one) => one.id === agentId)
    if (!agent) throw notFound()
    return agent
  }
  const ownerOf = (user_id: string) => {
    const found = members.find((one) => one.user_id === user_id)
    if (!found) throw notFound()
    return { id: found.user_id, name: found.name, email: found.email }
  }
  const add = (
    agent: Omit<Agent, 'client_id' | 'user_id' | 'grant_id' | 'state' | 'current_role'>,
  ): Agent => {
    const user_id = id('usr')
    grants.push({
      id: id('grt'),
      client_id: agent.id,
      client_kind: 'machine',
      client_name: agent.name,
      host: '',
      machine_agent_id: agent.id,
      user: { id: user_id, name: agent.name, email: null },
      via: 'machine',
      resource: 'platform',
      scopes: agent.scopes,
      sources: agent.sources,
      created_at: agent.created_at,
      last_used_at: agent.last_used_at,
      expires_at: agent.expires_at,
    })
    const made: Agent = {
      ...agent,
      client_id: agent.id,
      user_id,
      state: 'active',
      grant_id: null,
      current_role: agent.role,
    }
    data.agents.unshift(made)
    return withGrant(made)
  }
  const credential = (isKey: boolean): Credential => ({
    id: id('crd'),
    kind: isKey ? 'public_key' : 'secret',
    starts_with: isKey ? 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' : 'svcm_8fQ2',
    created_at: now(),
    last_used_at: null,
    expires_at: null,
  })
  const secretOf = (isKey: boolean): string | null =>
    isKey ? null : 'svcm_8fQ2mT7wQx4LrB8nVdY1cHs6JpZ3uGa5EoRkXyWtNqDf'

  own(contract.createMachineAgent, (input, role) => {
    data.given.push(input)
    if (!atLeast(role, input.role))
      throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
    const isKey = input.public_key !== undefined
    const agent = add({
      id: id('mch'),
      name: input.name,
      role: input.role,
      owner: ownerOf(input.owner_id ?? me.id),
      scopes: [...input.scopes],
      sources: null,
      credentials: [credential(isKey)],
      created_at: now(),
      expires_at: input.expires_at ?? now(),
      last_used_at: null,
    })
    return { ...agent, secret: secretOf(isKey) }
  })
  own(contract.listMachineAgents, ({ search = '', ...input }, role) =>
    list(
      'machine_agents',
      visible(role).filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())),
      input,
    ),
  )
  own(contract.showMachineAgent, ({ machine_agent_id }, role) => agentOf(role, machine_agent_id))
  own(contract.updateMachineAgent, ({ machine_agent_id, name, owner_id, expires_at }, role) =>
    Object.assign(
      agentOf(role, machine_agent_id),
      name && { name },
      owner_id && { owner: ownerOf(owner_id) },
      expires_at && { expires_at },
    ),
  )
  own(contract.addMachineAgentCredential, ({ machine_agent_id, public_key }, role) => {
    const isKey = public_key !== undefined
    if (public_key && 'd' in public_key) {
      throw new ServiceError('INVALID_REQUEST', undefined, { problems: ['public_key is a private key'] })
    }
    const made = credential(isKey)
    agentOf(role, machine_agent_id).credentials.push(made)
    return { ...made, secret: secretOf(isKey) }
  })
  own(contract.revokeMachineAgentCredential, ({ machine_agent_id, credential_id }, role) => {
    const agent = agentOf(role, machine_agent_id)
    agent.credentials = agent.credentials.filter((one) => one.id !== credential_id)
    return {}
  })
  own(contract.removeMachineAgent, ({ machine_agent_id }, role) => {
    const agent = agentOf(role, machine_agent_id)
    data.agents = data.agents.filter((one) => one !== agent)
    return {}
  })
  return { data, add, credential, ownerOf, clock, me, grants }
}

export function seedMachineAgents(
  { add, credential, ownerOf, clock, me }: FakeMachineAgents,
  other: string,
): void {
  const ago = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const made = { created_at: ago(12), expires_at: ago(-78), sources: null }
  add({
    ...made,
    id: `mch_${'1'.repeat(25)}`,
    name: 'Deploy watcher',
    role: 'developer',
    owner: ownerOf(other),
    scopes: ['maintenance:read'],
    credentials: [credential(true)],
    last_used_at: null,
  })
  add({
    ...made,
    id: SEEDED_MACHINE_AGENT,
    name: 'Nightly report',
    role: 'viewer',
    owner: ownerOf(me.id),
    scopes: ['data:read', 'maintenance:read'],
    credentials: [credential(false)],
    last_used_at: ago(0.4),
  })
}
