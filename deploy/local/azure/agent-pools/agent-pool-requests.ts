import type { FastifyInstance, FastifyReply } from 'fastify'
import { foundCluster } from '../access/managed-clusters.ts'
import { announce } from '../server/announce.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, page, pageOf } from '../server/arm-request.ts'
import { attemptOf } from '../virtual-machines/attempt.ts'
import type { AgentPool, AksMachine, AksMachineBody } from './agent-pools.ts'
import { type AksOperation, progressOf } from './aks-operations.ts'
import { poolsOf } from './cluster-pools.ts'
import { changeMachine, createMachine } from './create-machines.ts'
import { machineResource, poolResource } from './machine-resource.ts'

const provider = 'Microsoft.ContainerService'
const poolsPath = `/subscriptions/:subscription/resourceGroups/:group/providers/${provider}/managedClusters/:name/agentPools`
const machinesPath = `${poolsPath}/:pool/machines`
const operationPath = `/subscriptions/:subscription/providers/${provider}/locations/:location/operations/:id`

/** Agent pools of AKS clusters, and the machines of those with the mode Machines. */
export function registerAgentPools(app: FastifyInstance, deps: ArmDeps): void {
  const { config, agentPools, aksOperations } = deps
  const placeOf = (request: ArmRequest) => ({ config, group: foundCluster(request, config).resourceGroup })

  app.get(poolsPath, (request: ArmRequest) => {
    const place = placeOf(request)
    const pools = poolsOf(foundCluster(request, config), deps)
    return page(
      request,
      config,
      pools.map((pool) => poolResource(pool, place)),
    )
  })
  app.get(`${poolsPath}/:pool`, (request: ArmRequest) => poolResource(foundPool(request, deps), placeOf(request)))
  app.put(`${poolsPath}/:pool`, (request: ArmRequest<{ readonly properties?: AgentPool['properties'] }>, reply) => {
    const cluster = foundCluster(request, config)
    const { pool: name = '' } = request.params
    const pool = { cluster: cluster.name, name, properties: request.body?.properties ?? {} }
    agentPools.putPool(pool)
    return reply.code(201).send(poolResource(pool, { config, group: cluster.resourceGroup }))
  })

  app.delete(`${poolsPath}/:pool`, (request: ArmRequest, reply) => {
    const pool = foundPool(request, deps)
    const operation = deleteAll(agentPools.machinesOf(pool).all, deps)
    agentPools.putPool({ ...pool, isDeleted: true })
    return announced(reply.code(202), operation, deps).send()
  })

  app.get(machinesPath, (request: ArmRequest) => {
    const all = agentPools.machinesOf(machinesPool(request, deps))
    return pageOf(request, config, { all, show: (machine) => shown(machine, placeOf(request), deps) })
  })
  app.get(`${machinesPath}/:machine`, (request: ArmRequest) =>
    shown(foundMachine(request, deps), placeOf(request), deps),
  )
  app.put(`${machinesPath}/:machine`, (request: ArmRequest<AksMachineBody>, reply) => put(request, reply, deps))
  app.post(
    `${poolsPath}/:pool/deleteMachines`,
    (request: ArmRequest<{ readonly machineNames?: readonly string[] }>, reply) =>
      announced(reply.code(202), deleteMachines(request, deps), deps).send(),
  )

  app.get(operationPath, (request: ArmRequest, reply) => {
    const { id = '' } = request.params
    const operation = aksOperations.get(id)
    if (operation === undefined) throw resourceNotFound(`${provider}/locations/operations`, id, '')
    const progress = progressOf(
      operation,
      operation.machines.map((machine) => agentPools.vmOf(machine)),
    )
    if (progress.status === 'InProgress') reply.header('retry-after', '1')
    if (request.query['monitor'] === 'true') {
      return progress.status === 'InProgress'
        ? announced(reply.code(202), operation, deps).send()
        : reply.code(200).send()
    }
    return { name: id, startTime: operation.startTime, ...progress }
  })
}

function shown(machine: AksMachine, place: Parameters<typeof machineResource>[1], { agentPools }: ArmDeps) {
  return machineResource({ machine, vm: agentPools.vmOf(machine) }, place)
}

/** A batch goes on when one of its machines is refused; then the answer names those that were. */
function put(request: ArmRequest<AksMachineBody>, reply: FastifyReply, deps: ArmDeps): FastifyReply {
  const pool = machinesPool(request, deps)
  const { machine: name = '' } = request.params
  const header = request.headers['batchputmachine']
  const isBatch = typeof header === 'string'
  const wanted = machinesOfPut(name, request.body ?? { properties: {} }, isBatch ? header : undefined)
  const made: AksMachine[] = []
  const refused: { readonly code: string; readonly message: string; readonly target: string }[] = []
  let isNew = true
  for (const one of wanted) {
    try {
      const existing = deps.agentPools.machine(pool, one.name)
      checkETag(existing, request.headers['if-match'])
      checkAbsence(existing, request.headers['if-none-match'])
      isNew = existing === undefined
      if (existing === undefined) {
        deps.journal.push({ atMs: Date.now(), method: 'PUT', name: one.name })
        made.push(createMachine({ pool, ...one }, deps))
      } else {
        changeMachine(existing, one.body, deps)
        made.push(existing)
      }
    } catch (error) {
      if (!isBatch || !(error instanceof ArmError)) throw error
      refused.push({ code: error.code, message: error.message, target: one.name })
    }
  }
  if (refused.length > 0)
    throw new ArmError(400, 'BatchMachineClientError', `${refused.length} machines were refused.`)
      .with({ details: refused })
      .bare()
  const operation = deps.aksOperations.begin(isNew ? 'create' : 'update', made)
  if (isNew && isLost(made, deps)) {
    reply.hijack()
    request.raw.socket.destroy()
    return reply
  }
  const [first] = made
  const group = foundCluster(request, deps.config).resourceGroup
  const body = first === undefined ? {} : shown(first, { config: deps.config, group }, deps)
  return announced(reply.code(isNew ? 201 : 200), operation, deps).send(body)
}

/** Whether the answer to a PUT that made machines gets lost, as a fault says. */
function isLost(made: readonly AksMachine[], { agentPools, faults }: ArmDeps): boolean {
  const vm = made[0] && agentPools.vmOf(made[0])
  return vm !== undefined && faults.take('resetAfterCommit', attemptOf(vm.body)) !== undefined
}

function checkETag(machine: AksMachine | undefined, wanted: string | undefined): void {
  if (wanted === undefined || wanted === '*' || wanted === machine?.eTag) return
  throw new ArmError(412, 'ConditionNotMet', `The etag '${wanted}' is not that of the machine.`)
}

function checkAbsence(machine: AksMachine | undefined, unwanted: string | undefined): void {
  if (unwanted === '*' && machine !== undefined)
    throw new ArmError(412, 'ConditionNotMet', `The machine '${machine.name}' exists already.`)
}

function deleteMachines(
  request: ArmRequest<{ readonly machineNames?: readonly string[] }>,
  deps: ArmDeps,
): AksOperation {
  const pool = machinesPool(request, deps)
  const found = (request.body?.machineNames ?? []).flatMap((name) => deps.agentPools.machine(pool, name) ?? [])
  if (found.length === 0)
    throw new ArmError(400, 'InvalidParameter', `Cannot find any valid machines in agent pool '${pool.name}'.`)
  return deleteAll(found, deps)
}

function deleteAll(machines: readonly AksMachine[], deps: ArmDeps): AksOperation {
  const { agentPools, lifecycle, aksOperations } = deps
  const operation = aksOperations.begin('delete', machines)
  for (const machine of machines) {
    deps.journal.push({ atMs: Date.now(), method: 'DELETE', name: machine.name })
    const vm = agentPools.vmOf(machine)
    agentPools.markDeleting(machine)
    if (vm !== undefined) lifecycle.delete(vm)
  }
  return operation
}

function announced(reply: FastifyReply, { id }: AksOperation, { config }: ArmDeps): FastifyReply {
  return announce(reply, { id, provider }, config)
}

/** The agent pool that a request names. Errors: 404. */
function foundPool<T>(request: ArmRequest<T>, deps: ArmDeps): AgentPool {
  const { pool: name = '' } = request.params
  const cluster = foundCluster(request, deps.config)
  const pool = poolsOf(cluster, deps).find((one) => one.name.toLowerCase() === name.toLowerCase())
  if (pool === undefined)
    throw new ArmError(404, 'NotFound', `Could not find the agent pool ${name} of ${cluster.name}.`)
  return pool
}

/** As `foundPool`. Errors: also a pool of another mode, which has no machines of its own. */
function machinesPool<T>(request: ArmRequest<T>, deps: ArmDeps): AgentPool {
  const pool = foundPool(request, deps)
  if (pool.properties['mode'] !== 'Machines')
    throw new ArmError(400, 'OperationNotAllowed', `The agent pool ${pool.name} is not of the mode Machines.`)
  return pool
}

function foundMachine(request: ArmRequest, deps: ArmDeps): AksMachine {
  const { machine: name = '' } = request.params
  const pool = foundPool(request, deps)
  const machine = deps.agentPools.machine(pool, name)
  if (machine === undefined) throw new ArmError(404, 'NotFound', `Could not find the machine ${name} in ${pool.name}.`)
  return machine
}

interface BatchEntry {
  readonly machineName: string
  readonly zones?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
}

/** Most machines of one PUT. */
const mostMachines = 50

/**
 * Returns the machines that a PUT asks for: the one in its path, or those of its header `BatchPutMachine`, which share the body and have zones and tags of
 * their own (reference/azure-provider.md 4.7). Errors: a header that is none.
 */
function machinesOfPut(
  name: string,
  body: AksMachineBody,
  header: string | undefined,
): readonly { readonly name: string; readonly body: AksMachineBody }[] {
  if (header === undefined) return [{ name, body }]
  return entriesOf(header).map(({ machineName, zones, tags }) => ({
    name: machineName,
    body: {
      ...body,
      ...(zones === undefined || zones.length === 0 ? {} : { zones }),
      properties: { ...body.properties, tags: tags ?? {} },
    },
  }))
}

function entriesOf(header: string): readonly BatchEntry[] {
  const refused = (why: string) =>
    new ArmError(400, 'BatchMachineClientError', `The header BatchPutMachine ${why}.`).bare()
  let entries: unknown
  try {
    entries = (JSON.parse(header) as { readonly batchMachines?: unknown } | null)?.batchMachines
  } catch {
    throw refused('is no JSON')
  }
  if (!Array.isArray(entries) || entries.length === 0) throw refused('has no list batchMachines')
  if (entries.length > mostMachines) throw refused(`names ${entries.length} machines, more than ${mostMachines}`)
  const named = entries.filter((entry) => typeof (entry as Partial<BatchEntry> | null)?.machineName === 'string')
  if (named.length < entries.length) throw refused('has a machine without machineName')
  return named as readonly BatchEntry[]
}
