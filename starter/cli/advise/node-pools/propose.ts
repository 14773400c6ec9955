import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import type { RequirementSpec } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { CommandError } from '../../../document/reported-error.ts'
import { counted } from '../../../document/words.ts'
import { commentOf, yamlText } from '../../../document/yaml-text.ts'
import { inputName } from '../../../files/input-file.ts'
import type { AgentPool } from '../cluster/agent-pools.ts'

/** A NodePool with its AKSNodeClass in place of an agent pool, as manifests. */
export interface Proposal {
  readonly agentPool: string
  readonly name: string
  readonly nodePool: object
  readonly nodeClass: object
  /** What is different from the agent pool. */
  readonly notes: readonly string[]
}

/** What proposals depend on beside the agent pools. */
interface Surroundings {
  readonly sizes: ReadonlyMap<string, VmSize>
  /** Names that NodePools and AKSNodeClasses of the cluster have already. */
  readonly taken: ReadonlySet<string>
}

/** What `karpenter.azure.com/sku-family` is by. */
const familyLetter = /^(?:Standard|Basic)_([A-Z])/
/** The default of `--scale-down-unneeded-time`. */
const consolidateAfter = '10m'
const [leastPods, mostPods] = [10, 250]
const [leastDisk, mostDisk] = [30, 2048]

/** Returns a NodePool for each agent pool that nodes can be moved from: Linux, and no system pool, which every cluster keeps. */
export function proposalsFor(pools: readonly AgentPool[], around: Surroundings): readonly Proposal[] {
  return pools.filter(isMovable).map((pool) => proposalFor(pool, around))
}

/** Whether Joiner could have the nodes of an agent pool. */
function isMovable({ mode, os, sizes }: AgentPool): boolean {
  return mode === 'user' && os === 'linux' && sizes.length > 0
}

function proposalFor(pool: AgentPool, { sizes, taken }: Surroundings): Proposal {
  const name = taken.has(pool.name) ? `${pool.name}-joiner` : pool.name
  const size = sizes.get(pool.sizes[0] ?? '')
  const limits = limitsOf(pool, size)
  return {
    agentPool: pool.name,
    name,
    nodePool: {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name },
      spec: {
        template: {
          ...(Object.keys(pool.labels).length === 0 ? {} : { metadata: { labels: pool.labels } }),
          spec: {
            requirements: requirementsOf(pool),
            ...(pool.taints.length === 0 ? {} : { taints: pool.taints }),
            nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name },
            expireAfter: 'Never',
          },
        },
        ...(limits === undefined ? {} : { limits }),
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter, budgets: [{ nodes: '10%' }] },
      },
    },
    nodeClass: {
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name },
      spec: nodeClassSpec(pool),
    },
    notes: notesOn(pool, limits !== undefined),
  }
}

/** The family of the pool's sizes: of these the cheapest that fits is taken. GPUs stay what they are. */
function requirementsOf({ sizes, arch, isSpot, zones }: AgentPool): readonly RequirementSpec[] {
  const families = [...new Set(sizes.map((size) => familyLetter.exec(size)?.[1] ?? ''))].toSorted()
  const isIn = (key: string, values: readonly string[]): RequirementSpec => ({ key, operator: 'In', values })
  return [
    isIn(labels.os, ['linux']),
    isIn(labels.arch, [arch]),
    isIn(labels.capacityType, [isSpot ? 'spot' : 'on-demand']),
    families.includes('N') ? isIn(labels.instanceType, sizes) : isIn('karpenter.azure.com/sku-family', families),
    zones.length > 0 ? isIn(labels.zone, zones) : isIn('karpenter.azure.com/placement-scope', ['regional']),
  ]
}

function limitsOf({ max }: AgentPool, size: VmSize | undefined): Readonly<Record<string, string>> | undefined {
  if (max === undefined || size === undefined) return undefined
  return { cpu: String(max * size.vCpus), memory: `${Math.ceil(max * size.memoryGib)}Gi` }
}

function nodeClassSpec({ osSku, osDiskGb, maxPods, isFips, encryptsAtHost, subnetId }: AgentPool): object {
  return {
    imageFamily: imageFamilyOf(osSku),
    ...(osDiskGb === undefined || osDiskGb < leastDisk || osDiskGb > mostDisk ? {} : { osDiskSizeGB: osDiskGb }),
    ...(maxPods === undefined || maxPods < leastPods || maxPods > mostPods ? {} : { maxPods }),
    ...(isFips ? { fipsMode: 'FIPS' } : {}),
    ...(encryptsAtHost ? { security: { encryptionAtHost: true } } : {}),
    ...(subnetId === undefined ? {} : { vnetSubnetID: subnetId }),
  }
}

function imageFamilyOf(osSku = ''): string {
  if (/^(AzureLinux|CBLMariner|Mariner)/i.test(osSku)) return 'AzureLinux'
  return osSku === 'Ubuntu2204' || osSku === 'Ubuntu2404' ? osSku : 'Ubuntu'
}

function notesOn({ name, sizes, min = 0, isFromArm }: AgentPool, isLimited: boolean): readonly string[] {
  return [
    `in place of agent pool ${name} (${sizes.join(', ')})`,
    ...(isFromArm ? [] : ['ARM was not read: labels, taints and disks are those that its nodes have in common']),
    ...(isLimited ? [] : ['it has no limits, since the most nodes of the agent pool are not known']),
    ...(min > 0 ? [`the agent pool keeps at least ${min}; a NodePool has no minimum`] : []),
  ]
}

/** Writes proposals into one file, where the path ends in .yaml or .yml, else one file each into a folder. Returns what was written. Errors: CommandError; nothing is replaced. */
export function writeProposals(path: string, proposals: readonly Proposal[]): string {
  const isFile = /\.ya?ml$/.test(path)
  try {
    if (isFile) writeNew(path, proposals.map(manifestsOf).join('---\n'))
    else {
      mkdirSync(path, { recursive: true })
      for (const proposal of proposals) writeNew(join(path, `${proposal.name}.yaml`), manifestsOf(proposal))
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const remedy = code === 'EEXIST' ? 'it is there already; remove it, or name another' : message
    throw new CommandError(`--write-nodepools ${inputName(path)}: ${remedy}`)
  }
  return `wrote ${counted(proposals.length, 'NodePool')} to ${inputName(path)}`
}

function writeNew(path: string, text: string): void {
  writeFileSync(path, text, { flag: 'wx' })
}

/** The manifests of a proposal, with notes as comments. */
function manifestsOf({ nodePool, nodeClass, notes }: Proposal): string {
  return `${yamlText(nodePool, commentOf(...notes))}---\n${yamlText(nodeClass)}`
}
