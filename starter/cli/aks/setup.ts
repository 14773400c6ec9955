import { setTimeout as pause } from 'node:timers/promises'
import { nodesRole, subscriptionRole } from '../../../api/rights/azure-roles.ts'
import { say } from '../../document/print.ts'
import { ReportedError } from '../../document/reported-error.ts'
import { counted } from '../../document/words.ts'
import { ArmRefusal, type ArmSession } from '../../picture/arm-reader.ts'
import { logIn } from '../../picture/azure-login.ts'
import {
  autoProvisioning,
  findCluster,
  groupOf,
  problemText,
  workloadIdentityOff,
} from '../../picture/managed-cluster.ts'
import { isWanted } from '../shared/confirm.ts'
import { type ClusterFacts, type IdentityPlace, readFacts } from './facts.ts'
import {
  neededAssignments,
  preview,
  principalCommand,
  readAssignments,
  readRole,
  type SetupInput,
  type Step,
  setupSteps,
  usesPrincipal,
} from './setup-plan.ts'

export interface SetupOptions {
  readonly clusterName: string
  readonly resourceGroup?: string
  readonly subscription?: string
  readonly identity?: string
  readonly joinerNamespace: string
  readonly serviceAccount: string
  readonly dryRun?: true
  readonly yes?: true
}

const limitMs = 300_000

/** Makes what Joiner's identity lacks at Azure once somebody said yes, or prints the commands for it. Returns the exit status. Errors: ReportedError. */
export async function setUp(options: SetupOptions): Promise<number> {
  const signal = AbortSignal.timeout(limitMs)
  const { arm, subscriptionId } = await logIn(options.subscription, process.env, signal)
  const { resourceGroup, clusterName: name } = options
  const cluster = await findCluster(arm, { subscriptionId, name, resourceGroup }, signal)
  const auto = autoProvisioning(cluster, subscriptionId)
  if (auto !== undefined) throw new ReportedError(problemText(auto))
  const identity = options.identity ?? `joiner-${cluster.name}`
  const facts = await readFacts(arm, { subscriptionId, cluster, identity, withApiServer: false }, signal)
  if (facts.network.kind === 'missing')
    throw new ReportedError(
      `AKS cluster "${name}": the network of its nodes, where a role is needed, is not known: ${facts.network.why}; ask for Reader of resource group ${cluster.properties.nodeResourceGroup} and of the network`,
    )
  const place = { subscriptionId, group: groupOf(cluster.id), name: identity }
  const input = await readSetup(arm, { facts, place, options }, signal)
  const steps = setupSteps(input)
  const off = workloadIdentityOff(cluster, subscriptionId)
  if (off !== undefined)
    say(`# ${off.what}, which this does not do; it needs Azure CLI ${off.needs} or newer:`, ...off.command.split('\n'))
  for (const { what } of steps.filter(({ isThere }) => isThere)) say(`# there: ${what}`)
  const missing = steps.filter(({ isThere }) => !isThere)
  const commands = preview(missing, place).flatMap((text) => text.split('\n'))
  if (options.dryRun === true) {
    say(...commands)
    return 0
  }
  if (missing.length > 0) {
    const question = [...commands, `Make ${counted(missing.length, 'step')} of these at Azure?`].join('\n')
    if (!(await isWanted(question, options.yes, 'give it, or --dry-run to see the commands'))) return 1
  }
  const left = await apply(arm, { steps: missing, principalId: facts.identity?.principalId, place }, signal)
  if (left > 0 || off !== undefined) {
    console.error(`${left} of ${steps.length} steps are left${off === undefined ? '' : `; ${problemText(off)}`}`)
    return 1
  }
  say(`# all is set up; next: ${valuesCommand(facts, identity)}`)
  return 0
}

function valuesCommand({ cluster, subscriptionId }: ClusterFacts, identity: string): string {
  return `joiner admin aks values --cluster-name ${cluster.name} --resource-group ${groupOf(cluster.id)} --subscription ${subscriptionId} --identity ${identity} --image REGISTRY/joiner:TAG --output-file joiner-values.yaml`
}

interface SetupRequest {
  readonly facts: ClusterFacts
  readonly place: IdentityPlace
  readonly options: SetupOptions
}

async function readSetup(
  arm: ArmSession,
  { facts, place, options }: SetupRequest,
  signal: AbortSignal,
): Promise<SetupInput> {
  const { subscriptionId, identity } = facts
  const titles = [nodesRole, subscriptionRole]
  const subscriptions = [...new Set(neededAssignments(facts).map(({ scope }) => scope.split('/')[2] ?? ''))]
  const [found, assignments] = await Promise.all([
    Promise.all(titles.map((role) => readRole(arm, { role, subscriptionId }, signal))),
    identity === undefined ? [] : readAssignments(arm, { principalId: identity.principalId, subscriptions }, signal),
  ])
  const roles = new Map(
    titles.flatMap(({ title }, at) => {
      const definition = found[at]
      return definition === undefined ? [] : [[title, definition] as const]
    }),
  )
  return {
    facts,
    place,
    roles,
    assignments,
    account: { namespace: options.joinerNamespace, name: options.serviceAccount },
  }
}

interface Applying {
  readonly steps: readonly Step[]
  /** Of the identity, if it is there. */
  readonly principalId: string | undefined
  readonly place: IdentityPlace
}

/** Makes each missing step, as far as Azure lets it. Returns how many are left. */
async function apply(
  arm: ArmSession,
  { steps, place, principalId: known }: Applying,
  signal: AbortSignal,
): Promise<number> {
  let principalId = known
  let left = 0
  for (const step of steps) {
    const write = step.write(principalId)
    if (write === undefined) {
      left += 1
      console.error(`not made: ${step.what}: something that it needs is missing`)
      continue
    }
    try {
      const made = await untilKnown(() => arm.put<{ properties?: { principalId?: string } }>(write, signal), signal)
      principalId ??= made.properties?.principalId
      say(`# made: ${step.what}`)
    } catch (error) {
      if (!(error instanceof ArmRefusal)) throw error
      left += 1
      console.error(`not made: ${step.what}: ${refusalText(error, step, place)}`)
    }
  }
  return left
}

/** Whoever may not assign roles has to ask somebody, who needs the commands. */
function refusalText(error: ArmRefusal, step: Step, place: IdentityPlace): string {
  if (error.status !== 403) return error.message
  const commands = [...(usesPrincipal(step) ? [principalCommand(place)] : []), ...step.commands]
  return `${error.message}\nask an ${step.allowedTo} to run:\n${commands.join('\n')}`
}

const pauseMs = 5000
const tries = 12
/** What Azure says of a role or an identity that it has just made: it takes up to a minute until all of it knows. */
const notKnownYet = ['RoleDefinitionDoesNotExist', 'PrincipalNotFound']

async function untilKnown<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let round = 1; ; round++)
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ArmRefusal) || !notKnownYet.includes(error.code) || round === tries) throw error
      await pause(pauseMs, undefined, { signal })
    }
}
