import { readLateLists } from '../../../activities/azure/answers/late-list.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readLoopPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { readWaiting } from '../../../activities/provisioning/findings/read-waiting.ts'
import { QuarantineStore } from '../../../activities/scheduler-thread/quarantine-store.ts'
import { faultText, type NoteFaults } from '../../../api/kept/document.ts'
import { withheldMapName } from '../../../api/withheld-machines.ts'
import { verdictMapName } from '../../../core/disruption/verdicts/verdict.ts'
import { cancellationsMap } from '../../../core/node-claim/cancellation.ts'
import { phaseOf } from '../../../core/node-claim/phase.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { Adornments, missingLines, missingOf } from '../../picture/missing.ts'
import { readRefusedCancellations } from '../../view/cancellations.ts'
import { readEvaluations } from '../../view/evaluations.ts'
import { readPrices } from '../../view/prices.ts'
import { processesRead } from '../../view/processes-read.ts'
import { readWithheld } from '../../view/withheld.ts'
import { withCluster } from '../access/cluster.ts'
import { readLeases } from '../shared/leases.ts'
import type { ClusterOptions } from '../shared/options.ts'
import { readClaims, readRepairer } from '../shared/temporal-findings.ts'
import { type ClusterReport, type NodeReport } from './status.ts'

const readMs = 15_000
const configMs = 3000
const loops = ['provisioning', 'disruption'] as const
/** Damaged documents of one ConfigMap that are named. */
const mostFaults = 5

/** What is read of the cluster. */
export interface ClusterRead {
  readonly report: ClusterReport
  /** Joiner's NodeClaims; undefined: they could not be read. */
  readonly claims: readonly NodeClaim[] | undefined
}

/** Reads NodeClaims, and what Joiner keeps in the cluster, as far as they can be read from here. */
export async function readCluster(options: ClusterOptions, now: number): Promise<ClusterRead> {
  try {
    return await withCluster(options, (client) => readObjects(client, options.namespace, now))
  } catch (error) {
    return { report: { unread: missingLines([missingOf('NodeClaims', error)]) }, claims: undefined }
  }
}

/** As `readCluster`, with a client of the cluster. */
async function readObjects(client: KubernetesClient, namespace: string, now: number): Promise<ClusterRead> {
  const sources = new Adornments()
  const damaged = new Set<string>()
  const note: NoteFaults = (map, faults) => {
    for (const fault of faults.slice(0, mostFaults)) damaged.add(faultText(map, namespace, fault))
  }
  const source = { client, namespace, note }
  const kept = <T>(map: string, read: Promise<T>) => sources.read(`ConfigMap ${map}`, within(configMs, read))
  const [
    claims,
    repairer,
    leases,
    prices,
    pauses,
    quarantined,
    waiting,
    withheld,
    lateLists,
    refusedCancellations,
    lastPass,
  ] = await Promise.all([
    sources.read('NodeClaims', within(readMs, readClaims(client))),
    within(configMs, readRepairer(client, namespace, now)).catch(() => undefined),
    sources.read('leases', within(configMs, readLeases(client, namespace))),
    kept(
      'joiner-prices',
      readPrices(source, () => now),
    ),
    kept('joiner-pauses', Promise.all(loops.map((loop) => readLoopPauses(source, loop, now)))),
    kept('joiner-quarantine', new QuarantineStore(source).read()),
    kept(waitingMapName, readWaiting(source)),
    kept(withheldMapName, readWithheld(source)),
    kept('joiner-late-lists', readLateLists(source, now)),
    kept(cancellationsMap, readRefusedCancellations(source, now)),
    kept(verdictMapName(0), readEvaluations(source, 0)),
    ...processesRead(source, now).map(([map, read]) => kept(map, read)),
  ])
  const report = {
    unread: missingLines(sources.missing),
    damaged: [...damaged],
    ...(claims && { nodes: claims.map(nodeReport) }),
    ...(repairer && { repairer }),
    ...(leases && { leases }),
    ...(prices?.kind === 'read' && { priceOf: prices.priceOf }),
    ...(pauses && { pauses: { provisioning: pauses[0] ?? [], disruption: pauses[1] ?? [] } }),
    ...(waiting && { waiting }),
    ...(withheld && { withheld }),
    ...(lateLists && { lateLists }),
    ...(refusedCancellations !== undefined && { refusedCancellations }),
    ...(lastPass?.lastPass && { lastPass: lastPass.lastPass }),
    ...(quarantined && { quarantined: [...quarantined.values()].filter(({ untilMs }) => untilMs > now) }),
  }
  return { report, claims }
}

/** Errors: those of the work, and that it takes longer. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

function nodeReport(claim: NodeClaim): NodeReport {
  const { labels: own } = claim.metadata
  return {
    nodePool: own[labels.nodePool] ?? '(none)',
    phase: phaseOf(claim).phase,
    instanceType: own[labels.instanceType] ?? '',
    capacityType: own[labels.capacityType] ?? '',
  }
}
