import { createHash } from 'node:crypto'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import { attemptOf } from '../virtual-machines/attempt.ts'
import type { AsyncFailure } from '../virtual-machines/machine.ts'
import { freeAddresses } from '../virtual-machines/vm-references.ts'
import type { AgentPool, AksMachine, AksMachineBody } from './agent-pools.ts'
import { aksKubelet, nodeImageOf, tagsOf, vmOfMachine } from './machine-vm.ts'

/** A machine that a PUT asks for. */
interface Wanted {
  readonly pool: AgentPool
  readonly name: string
  readonly body: AksMachineBody
}

/** Longest name of a Linux machine. */
const longestName = 34

/** Makes a machine with its VM. Errors: what AKS refuses at once; what Azure refuses about the VM is in the machine afterwards. */
export function createMachine({ pool, name, body }: Wanted, deps: ArmDeps): AksMachine {
  const { config, catalogue, images, lifecycle, agentPools } = deps
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name.length > longestName)
    throw new ArmError(
      400,
      'InvalidParameter',
      `The machine name '${name}' is invalid: it must begin with a letter, consist of small letters, digits and dashes, and have at most ${longestName} characters.`,
    )
  const { vmSize = '' } = body.properties.hardware ?? {}
  const size = catalogue.size(vmSize)
  if (size === undefined)
    throw new ArmError(
      400,
      'VMSizeNotSupported',
      `Virtual Machine size: '${vmSize}' is not supported for subscription ${config.subscriptionId} in location '${config.location}'.`,
    )
  const vm = vmName(pool, name)
  const named = { vm, pool: pool.name, body }
  const vmBody = vmOfMachine(named, config)
  if (images.find(vmBody.properties.storageProfile?.imageReference?.id ?? '') === undefined)
    throw new ArmError(
      400,
      'InvalidParameter',
      `The node image version '${nodeImageOf(body)}' is not available in ${config.location}.`,
    )
  const isSpot = vmBody.properties.priority === 'Spot'
  const failure =
    refusalOfVm(() => deps.quotas.check(size, isSpot)) ?? refusalOfVm(() => deps.pools.admit(attemptOf(vmBody), size))
  const { machine } = lifecycle.create({
    name: vm,
    body: vmBody,
    size,
    addresses: freeAddresses(vmBody, deps),
    failure,
    aksKubelet: aksKubelet(named, config),
  })
  const made: AksMachine = {
    cluster: pool.cluster,
    pool: pool.name,
    name,
    body,
    vm,
    vmId: machine.vmId,
    createdAt: machine.timeCreated,
    eTag: deps.newId(),
  }
  agentPools.save(made)
  return made
}

/** A PUT over a machine changes its tags; what is immutable is refused. */
export function changeMachine(machine: AksMachine, body: AksMachineBody, deps: ArmDeps): void {
  if (machine.isDeleting === true)
    throw new ArmError(409, 'OperationNotAllowed', `The machine '${machine.name}' is being deleted.`)
  const changed = immutable.find(([, value]) => value(machine.body) !== value(body))?.[0]
  if (changed !== undefined)
    throw new ArmError(400, 'OperationNotAllowed', `Changing property '${changed}' of a machine is not allowed.`)
  machine.body = { ...machine.body, properties: { ...machine.body.properties, tags: body.properties.tags ?? {} } }
  machine.eTag = deps.newId()
  deps.agentPools.save(machine)
  const vm = deps.agentPools.vmOf(machine)
  if (vm !== undefined) deps.lifecycle.update(vm, { tags: tagsOf(machine.pool, machine.body) })
}

const immutable: readonly (readonly [string, (body: AksMachineBody) => unknown])[] = [
  ['zones', ({ zones }) => (zones ?? []).join()],
  ['properties.hardware.vmSize', ({ properties }) => properties.hardware?.vmSize?.toLowerCase()],
  ['properties.priority', ({ properties }) => properties.priority ?? 'Regular'],
]

/** `aks-POOL-MACHINE-DIGITS-vm`. The digits are the same for a pool, as in the names of its other resources. */
function vmName({ cluster, name: pool }: AgentPool, machine: string): string {
  const digits = Number.parseInt(createHash('sha256').update(`${cluster}/${pool}`).digest('hex').slice(0, 12), 16)
  return `aks-${pool}-${machine}-${String(digits % 100_000_000).padStart(8, '0')}-vm`
}

/** What Azure refuses about the VM fails the machine later. */
function refusalOfVm(check: () => AsyncFailure | undefined | void): AsyncFailure | undefined {
  try {
    return check() ?? undefined
  } catch (error) {
    if (error instanceof ArmError) return { code: error.code, message: error.message }
    throw error
  }
}
