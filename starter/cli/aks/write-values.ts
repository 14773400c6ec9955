import { writeFile } from 'node:fs/promises'
import { Document, isMap, isScalar, isSeq } from 'yaml'
import { present } from '../../document/words.ts'
import { commentOf, documentText, forKubectl } from '../../document/yaml-text.ts'
import { logIn } from '../../picture/azure-login.ts'
import { autoProvisioning, findCluster, groupOf, workloadIdentityOff } from '../../picture/managed-cluster.ts'
import { type ChartValue, chartValues, type ImageName } from './chart-values.ts'
import { type ClusterFacts, readFacts } from './facts.ts'

export interface ValuesOptions {
  readonly clusterName: string
  readonly resourceGroup?: string
  readonly subscription?: string
  readonly identity?: string
  readonly image?: ImageName
  readonly outputFile?: string
}

const limitMs = 120_000

/** Writes a values file of the chart for a cluster. Returns the exit status: 1 where the chart would miss a value. Errors: ReportedError. */
export async function writeValues(options: ValuesOptions): Promise<number> {
  const signal = AbortSignal.timeout(limitMs)
  const { arm, cloud, subscriptionId } = await logIn(options.subscription, process.env, signal)
  const { resourceGroup, clusterName: name, outputFile } = options
  const cluster = await findCluster(arm, { subscriptionId, name, resourceGroup }, signal)
  const identityName = options.identity ?? `joiner-${cluster.name}`
  const wanted = { subscriptionId, cluster, identity: identityName, withApiServer: true }
  const facts = await readFacts(arm, wanted, signal)
  const values = chartValues({ facts, cloud: cloud.name, identityName, image: options.image })
  const text = valuesText(values, head(facts))
  if (outputFile === undefined) process.stdout.write(text)
  else await writeFile(outputFile, text)
  for (const { path, source, remedy } of values)
    if (remedy !== undefined) console.error(`${path.join('.')}: ${source}; ${remedy}`)
  for (const problem of [autoProvisioning(cluster, subscriptionId), workloadIdentityOff(cluster, subscriptionId)])
    if (problem !== undefined) console.error(`${problem.what}: ${problem.command}`)
  return values.some(({ isNeeded, value }) => isNeeded === true && value.length === 0) ? 1 : 0
}

function head({ cluster, subscriptionId }: ClusterFacts): readonly string[] {
  const zones = new Set((cluster.properties.agentPoolProfiles ?? []).flatMap((pool) => pool.availabilityZones ?? []))
  return present(
    `Values of the chart for AKS cluster ${cluster.name} in resource group ${groupOf(cluster.id)} of subscription ${subscriptionId}.`,
    'Written by joiner admin aks values; the comment at each value says what it was read from. Azure does not know Temporal: add temporal.address.',
    zones.size !== 0 &&
      `Zones of its agent pools: ${[...zones].toSorted().join(', ')}. A NodePool names zones; the chart has no value for them.`,
  )
}

/** Returns a values file of the chart, with the source of each value in a comment. `head`: comment lines before all values. */
export function valuesText(values: readonly ChartValue[], head: readonly string[]): string {
  const document = new Document({}, forKubectl)
  for (const one of values) {
    document.setIn(one.path, document.createNode(one.value))
    comment(document, one)
  }
  document.commentBefore = commentOf(...head)
  return documentText(document)
}

/** Beside a value of one line, and above what takes more. */
function comment(document: Document, { path, value, source, remedy }: ChartValue): void {
  const text = commentOf(remedy === undefined ? source : `${source}; ${remedy}`)
  const node = document.getIn(path, true)
  const isShort = typeof value === 'string' && !value.includes('\n')
  if ((isScalar(node) && isShort) || (isSeq(node) && node.items.length === 0)) {
    node.comment = text
    return
  }
  const parent = document.getIn(path.slice(0, -1), true)
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => (isScalar(key) ? key.value : key) === path.at(-1))
    : undefined
  if (pair === undefined) throw new Error(`there is no key ${path.join('.')} to comment on`)
  const key = document.createNode(path.at(-1))
  key.commentBefore = text
  pair.key = key
}
