import type { FastifyInstance, FastifyReply } from 'fastify'
import { strictRecord, text } from '../../../../api/shapes/shape.ts'
import { type NodeObject, nodeObject } from '../boot/node-object.ts'
import { provision } from '../boot/provision.ts'
import type { VmSize } from '../catalogue/sku-catalogue.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { type Machine, type MachineBody, nicConfigurations } from '../virtual-machines/machine.ts'
import { isWrong } from './admin-settings.ts'
import type { Fault } from './fault-shape.ts'
import { faultShape } from './fault-shape.ts'
import { parseScenario, ScenarioError } from './scenario.ts'
import type { ScenarioPlayer } from './scenario-player.ts'

/** What tests and operators of the simulator use: state, faults, and what happens to VMs. No Azure client sees it. */
export function registerAdmin(app: FastifyInstance, deps: ArmDeps): void {
  const { machines, lifecycle, faults, calls, journal } = deps
  app.get('/admin/state', () => stateOf(deps))
  app.get('/admin/nics', () =>
    Object.fromEntries(
      machines.all.flatMap((machine) => deps.resources.nics(machine).map(({ name, tags }) => [name, { tags }])),
    ),
  )
  app.get('/admin/bill', () => ({ atMs: Date.now(), virtualMachines: deps.bill.rows }))
  app.get('/admin/calls', () => calls.byOperation)
  app.get('/admin/calls/vms', () => calls.byVm)
  app.delete('/admin/calls', (_request, reply) => {
    calls.clear()
    deps.throttling.clearCounts()
    return reply.code(204).send()
  })
  app.get('/admin/process', () => ({ rssMib: Math.round(process.memoryUsage.rss() / 2 ** 20) }))
  app.get('/admin/journal', () => journal)
  app.get('/admin/violations', () => deps.violations)
  app.delete('/admin/leftovers', (_request, reply) => {
    for (const type of ['networkInterfaces', 'disks'] as const)
      for (const { name } of machines.leftovers(type)) machines.discard(type, name)
    return reply.code(204).send()
  })
  app.get('/admin/faults', () => faults.list)
  app.get('/admin/faults/hits', () => faults.hits)
  app.post<{ Body: Fault }>('/admin/faults', (request, reply) => {
    if (isWrong(request.body, faultShape, reply)) return reply
    faults.add(request.body)
    return reply.code(204).send()
  })
  app.delete('/admin/faults', (_request, reply) => {
    faults.clear()
    return reply.code(204).send()
  })
  app.post('/admin/operations/finish', (_request, reply) => {
    lifecycle.finish()
    return reply.code(204).send()
  })
  registerAdminOfVms(app, deps)
}

/** What a VM was made of and made of its custom data, and what others do to it. */
function registerAdminOfVms(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, lifecycle } = deps
  app.get<{ Params: { name: string } }>('/admin/vms/:name/boot', (request, reply): FastifyReply => {
    const machine = machines.get(request.params.name)
    const report = machine === undefined ? undefined : bootReport(machine)
    return report === undefined
      ? reply.code(404).send({ error: `no VM ${request.params.name} that has booted` })
      : reply.send(report)
  })
  app.get<{ Params: { name: string } }>('/admin/vms/:name', (request, reply): FastifyReply => {
    const machine = machines.get(request.params.name)
    return machine === undefined
      ? reply.code(404).send({ error: `no VM ${request.params.name}` })
      : reply.send(madeVm(machine, config))
  })
  // What somebody else does: a policy, or a person in the portal.
  app.post<{ Params: { name: string }; Body: Record<string, string> }>('/admin/vms/:name/tags', (request, reply) => {
    const machine = machines.get(request.params.name)
    if (machine === undefined) return reply.code(404).send({ error: `no VM ${request.params.name}` })
    machine.body = { ...machine.body, tags: { ...machine.body.tags, ...request.body } }
    const nics = deps.resources
      .nics(machine)
      .map(({ name, tags }) => [String(name), { ...(tags as object), ...request.body }])
    machine.partTags = { ...machine.partTags, ...Object.fromEntries(nics) }
    machines.save(machine)
    return reply.code(204).send()
  })
  app.post<{ Params: { name: string; action: string } }>('/admin/vms/:name/:action', (request, reply): FastifyReply => {
    const machine = machines.get(request.params.name)
    if (machine === undefined) return reply.code(404).send({ error: `no VM ${request.params.name}` })
    switch (request.params.action) {
      case 'evict':
        if (machine.body.properties.priority !== 'Spot')
          return reply.code(409).send({ error: `VM ${machine.name} is not a spot VM; use delete or stop` })
        lifecycle.evict(machine)
        break
      case 'delete':
        lifecycle.delete(machine)
        break
      case 'stop':
        lifecycle.power(machine, 'stopped')
        break
      case 'freeze':
        lifecycle.power(machine, 'frozen')
        break
      default:
        return reply
          .code(400)
          .send({ error: `unknown action "${request.params.action}"; use evict, delete, stop or freeze` })
    }
    return reply.code(204).send()
  })
}

/** What there is, as `GET /admin/state` answers it. */
export const stateOf = ({ machines, agentPools }: Pick<ArmDeps, 'machines' | 'agentPools'>) => ({
  virtualMachines: machines.all.map(({ name, state, power, joins, joined, boot, timeCreated, body }) => ({
    name,
    state,
    power,
    joins,
    joined: joined ?? false,
    boot: boot === undefined ? 'not yet' : `exit code ${boot.exitCode}: ${boot.output.slice(-300)}`,
    timeCreated,
    size: body.properties.hardwareProfile.vmSize,
    zone: body.zones?.[0] ?? '0',
    priority: body.properties.priority ?? 'Regular',
    tags: body.tags ?? {},
    identities: Object.keys((body.identity as { userAssignedIdentities?: object })?.userAssignedIdentities ?? {}),
  })),
  aksMachines: agentPools.machines.map(({ name, pool, vm, isDeleting = false, body }) => ({
    name,
    pool,
    vm,
    isDeleting,
    tags: body.properties.tags ?? {},
  })),
  networkInterfaces: [
    ...machines.all.flatMap((machine) => nicConfigurations(machine).map(({ name }) => name)),
    ...machines.leftovers('networkInterfaces').map(({ name }) => name),
  ],
  disks: [
    ...machines.all.flatMap(({ body }) => body.properties.storageProfile?.osDisk?.name ?? []),
    ...machines.leftovers('disks').map(({ name }) => name),
  ],
})

/** A VM for whoever boots it elsewhere: its PUT as it came, with the secrets in its custom data. */
export interface MadeVm {
  readonly body: MachineBody
  readonly size: VmSize
  readonly addresses: readonly string[]
  /** What its simulated kubelet would register. Absent: custom data starts none. */
  readonly node?: NodeObject
}

function madeVm(machine: Machine, config: ArmDeps['config']): MadeVm {
  const { body, size, addresses } = machine
  const { kubelet } = provision(body.properties.osProfile?.customData ?? '')
  const node = kubelet && nodeObject(machine, kubelet, config)
  return { body, size, addresses: addresses.map(({ ip }) => ip), ...(node === undefined ? {} : { node }) }
}

/** Variables that hold secrets. */
const secrets = [
  'TLS_BOOTSTRAP_TOKEN',
  'KUBELET_CLIENT_CONTENT',
  'SERVICE_PRINCIPAL_FILE_CONTENT',
  'CUSTOM_SEARCH_REALM_PASSWORD',
]

/**
 * What a machine made of its custom data, for people and tests: how provisioning ended, the files that custom data wrote (without what
 * stands in them) and what the scripts were given, without secrets. Undefined: it has not booted.
 */
function bootReport({ boot, body }: Machine): Record<string, unknown> | undefined {
  if (boot === undefined) return undefined
  const { files, environment, sysctl, kubeletConfigFile } = provision(body.properties.osProfile?.customData ?? '')
  return {
    ...boot,
    files: Object.fromEntries([...files].map(([path, { mode }]) => [path, mode.toString(8).padStart(4, '0')])),
    environment: Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        secrets.includes(name) && value !== '' ? '***' : value,
      ]),
    ),
    sysctl,
    ...(kubeletConfigFile === undefined ? {} : { kubeletConfigFile }),
  }
}

/** Starts, reports and stops a scenario. */
export function registerAdminScenario(app: FastifyInstance, player: ScenarioPlayer): void {
  app.get('/admin/scenario', () => player.steps)
  app.post<{ Body: { readonly yaml: string } }>('/admin/scenario', (request, reply) => {
    if (isWrong(request.body, strictRecord({ yaml: text }, ['yaml']), reply)) return reply
    try {
      player.play(parseScenario(request.body.yaml, 'yaml'))
    } catch (error) {
      if (error instanceof ScenarioError) return reply.code(400).send({ error: error.message })
      throw error
    }
    return reply.code(204).send()
  })
  app.delete('/admin/scenario', (_request, reply) => {
    player.stop()
    return reply.code(204).send()
  })
}
