import { listRuns } from '../../../activities/workflow-runs.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { singletonIds } from '../../../core/task-queues.ts'
import { runningOf } from '../../../core/workflow-queries.ts'
import { loops, runningLoop } from '../../bridge/cluster-loops.ts'
import { grpcCode, grpcCodes } from '../grpc-code.ts'
import { attributeCommand, readAttributes } from '../namespace-attributes.ts'
import { type Finding, findingsOf, type Look, type LookContext, merged } from './finding.ts'
import { LifecycleLook, type LifecycleLookOptions } from './lifecycles.ts'
import { lookForOtherForms } from './other-forms.ts'
import { lookAtSchedule } from './schedule.ts'

/** Returns all looks. `claims` returns the NodeClaims that should have lifecycles, as they are at the moment. */
export function temporalLooks(
  context: LookContext,
  claims: () => Iterable<NodeClaim>,
  options: LifecycleLookOptions = {},
): readonly Look[] {
  const lifecycles = new LifecycleLook(context, options)
  return [
    { what: 'the loops', run: () => lookAtLoops(context) },
    { what: 'the Schedule', run: () => lookAtSchedule(context) },
    { what: 'the search attributes', run: () => lookAtAttributes(context) },
    { what: 'the lifecycles', run: () => lifecycles.look(claims) },
    { what: 'what is of another form', run: () => lookForOtherForms(context) },
    { what: 'the list of workflows that cannot go on', run: () => lookForStuckRuns(context) },
  ]
}

/** Reads the NodeClaims. Undefined: they could not be read. */
export type ReadClaims = () => Promise<readonly NodeClaim[] | undefined>

/**
 * Looks once at everything, and changes nothing. `claims`: undefined where they could not be read; lifecycles are not compared then. They are read
 * again where one seems to lack its lifecycle: it may have gone meanwhile.
 */
export async function lookOnce(
  context: LookContext,
  claims: readonly NodeClaim[] | undefined,
  again: ReadClaims,
): Promise<readonly Finding[]> {
  const looks = temporalLooks(context, () => claims ?? [], { isOnly: true })
  const possible = claims === undefined ? looks.filter(({ what }) => what !== 'the lifecycles') : looks
  const findings = merged((await Promise.all(possible.map(findingsOf))).flat())
  if (findings.every(({ repair }) => repair?.kind !== 'start')) return findings
  const left = new Set((await again())?.map(({ metadata }) => metadata.name))
  return findings.filter(({ repair }) => repair?.kind !== 'start' || left.has(repair.nodeClaim))
}

/**
 * Finds search attributes of lifecycles that somebody removed, or made again with another type: each workflow task fails that changes one. What the
 * namespace never had is no finding: lifecycles began without. Errors: what Temporal says.
 */
async function lookAtAttributes({ client }: LookContext): Promise<readonly Finding[]> {
  const { connection, options } = client
  const { namespace } = options
  const found = await readAttributes(connection, namespace)
  if (found.kind !== 'known') return []
  return [
    ...found.missing.map(
      (name): Finding => ({
        object: `search attribute ${name}`,
        fault: 'search attribute missing',
        detail: 'nodes begin without search attributes, and lists in Temporal cannot be filtered by it',
        remedy: `if Joiner may not make it: ${attributeCommand([name], namespace)}`,
        repair: { kind: 'bootstrap' },
      }),
    ),
    ...found.wrong.map(
      (name): Finding => ({
        object: `search attribute ${name}`,
        fault: 'search attribute of another type',
        detail: 'it is no Keyword, so nodes begin without search attributes',
        remedy: `set temporal.namespace to a namespace of Joiner's own; or, if nobody else uses it: temporal operator search-attribute remove --name ${name} --namespace ${namespace}; Joiner makes it again`,
      }),
    ),
  ]
}

/** A retry or two are the day's work, such as while workers are replaced. */
const manyAttempts = 3

/** Whether both loops run and get on. They are described, not listed: that works while Temporal's visibility store does not. */
export async function lookAtLoops({ client, cluster }: LookContext): Promise<readonly Finding[]> {
  const { namespace } = client.options
  const looks = loops.map((loop) => {
    const workflowId = singletonIds[loop](cluster)
    const object = `workflow ${workflowId}`
    const run = async (): Promise<readonly Finding[]> => {
      const running = await runningLoop({ client, cluster }, loop)
      if (running === undefined)
        return [
          {
            object,
            fault: 'loop not running',
            remedy: 'a process with the role bridge starts it: kubectl get pods --namespace joiner',
            repair: { kind: 'bootstrap' },
          },
        ]
      const attempt = running.raw.pendingWorkflowTask?.attempt ?? 1
      if (attempt < manyAttempts) return []
      return [
        {
          object,
          fault: 'workflow task fails',
          detail: `attempt ${attempt}`,
          remedy: `see the log of the role core; to have it started again: temporal workflow terminate --workflow-id ${workflowId} --namespace ${namespace}`,
        },
      ]
    }
    return findingsOf({ what: object, run })
  })
  return (await Promise.all(looks)).flat()
}

/** What the server reports of a run that cannot go on: its history asks for another code, the code throws, or a search attribute is not what it was. */
const problems = ['NonDeterministicError', 'WorkflowWorkerUnhandledFailure', 'BadSearchAttributes'].map(
  (cause) => `'cause=WorkflowTaskFailedCause${cause}'`,
)

/**
 * Finds the runs of this cluster that the workflow code cannot go on with: the server has seen five failures in a row. All that they knew can be rebuilt
 * from Kubernetes objects, so a run that is started again costs time and no node (ADR 12). Errors: what Temporal says.
 */
async function lookForStuckRuns({ client, cluster }: LookContext): Promise<readonly Finding[]> {
  const query = `${runningOf(cluster)} AND TemporalReportedProblems IN (${problems.join(', ')})`
  const found: Finding[] = []
  try {
    for await (const { workflowId, runId } of listRuns(client, query))
      found.push({
        object: `workflow ${workflowId}`,
        fault: 'workflow task fails',
        detail: `run ${runId} cannot go on`,
        remedy: `have it started again: temporal workflow terminate --workflow-id ${workflowId} --namespace ${client.options.namespace}`,
        repair: { kind: 'restart', workflowId, runId, why: 'cannot go on with it in this version' },
      })
  } catch (error) {
    if (!isUnknownToServer(error)) throw error
    return [
      {
        object: "Temporal's server",
        fault: 'server too old',
        detail: 'it does not say which workflows cannot go on (1.30 and newer do)',
        remedy: 'upgrade Temporal; until then end such workflows by hand (docs/workflow-versions.md)',
      },
    ]
  }
  return found
}

/** The search attribute is as old as Temporal 1.30. */
function isUnknownToServer(error: unknown): boolean {
  return grpcCode(error) === grpcCodes.invalidArgument && String(error).includes('TemporalReportedProblems')
}
