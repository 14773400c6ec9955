import type { Json } from '../../../../../activities/kubernetes/client/answers.ts'
import type { Node, Pod } from '../../../../../core/objects.ts'
import type { ApiServer } from '../../api/api-server.ts'
import { metaOf } from '../../api/objects.ts'
import { pathOf } from '../../api/paths.ts'
import { specOf } from '../seen.ts'
import { bindVolume, claimPathOf, classOf, freeVolumes, waits } from '../volume-binding.ts'
import { meetsTerm } from './node-affinity.ts'
import { namespaceOf, type Place, type Places } from './places.ts'

interface VolumeSpec {
  readonly csi?: { readonly driver: string }
  readonly nodeAffinity?: {
    readonly required?: { readonly nodeSelectorTerms?: readonly Parameters<typeof meetsTerm>[0][] }
  }
}

const selectedNode = 'volume.kubernetes.io/selected-node'
const oncePod = 'ReadWriteOncePod'
const noProvisioner = 'kubernetes.io/no-provisioner'

/** What the volumes of pods ask of their nodes. */
export class Volumes {
  readonly #server: ApiServer

  constructor(server: ApiServer) {
    this.#server = server
  }

  /** Why a pod can be nowhere; undefined: its volumes are there, or follow from its node. */
  problem(pod: Pod): string | undefined {
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
      if (this.#volume(claim) === undefined && !waits(this.#server.objects, claim))
        return 'pod has unbound immediate PersistentVolumeClaims'
    }
    return undefined
  }

  /** Why a pod's volumes cannot be had in a place. */
  refusal(pod: Pod, place: Place, places: Places): string | undefined {
    if (this.#isUsed(pod, places))
      return 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
    for (const claim of this.#claims(pod)) {
      const volume = this.#volume(claim)
      if (volume !== undefined && !isReached(volume, place.node))
        return "node(s) didn't match PersistentVolume's node affinity"
      if (volume === undefined && this.#freeIn(claim, place.node) === undefined && !this.#isMadeIn(claim, place.node))
        return "node(s) didn't find available persistent volumes to bind"
    }
    return this.#exceeds(pod, place) ? 'node(s) exceed max volume count' : undefined
  }

  /** Binds the claims of a pod that is to be in a place. Returns false where a volume has yet to be made. */
  bind(pod: Pod, { node }: Place): boolean {
    let isBound = true
    for (const claim of this.#claims(pod)) {
      if (this.#volume(claim) !== undefined) continue
      const free = this.#freeIn(claim, node)
      if (free !== undefined) bindVolume(this.#server, claim, free)
      else {
        isBound = false
        const annotations = { ...metaOf(claim).annotations, [selectedNode]: node.metadata.name }
        this.#server.change(claimPathOf(claim), undefined, (object) => ({
          ...object,
          metadata: { ...metaOf(object), annotations },
        }))
      }
    }
    return isBound
  }

  #claim(pod: Pod, name: string): Json | undefined {
    return this.#server.objects.find(pathOf('persistentvolumeclaims', name, namespaceOf(pod)))
  }

  #claims(pod: Pod): readonly Json[] {
    return pod.persistentVolumeClaims.map((name) => this.#claim(pod, name)).filter((claim) => claim !== undefined)
  }

  #volume(claim: Json): Json | undefined {
    const { volumeName } = specOf(claim) as { readonly volumeName?: string }
    return volumeName === undefined ? undefined : this.#server.objects.find(pathOf('persistentvolumes', volumeName))
  }

  #freeIn(claim: Json, node: Node): Json | undefined {
    return freeVolumes(this.#server.objects, claim).find((volume) => isReached(volume, node))
  }

  /** Whether another pod, wherever it is, uses a claim that is for one pod at a time. */
  #isUsed(pod: Pod, { all }: Places): boolean {
    const sole = this.#claims(pod)
      .filter((claim) => (specOf(claim) as { readonly accessModes?: readonly string[] }).accessModes?.includes(oncePod))
      .map((claim) => metaOf(claim).name)
    const uses = (other: Pod) => other.persistentVolumeClaims.some((name) => sole.includes(name))
    return (
      sole.length > 0 &&
      all.some(({ pods }) => pods.some((other) => namespaceOf(other) === namespaceOf(pod) && uses(other)))
    )
  }

  /** Whether a driver may make the volume for a node. */
  #isMadeIn(claim: Json, node: Node): boolean {
    const { provisioner, allowedTopologies = [] } = (classOf(this.#server.objects, claim) ?? {}) as {
      readonly provisioner?: string
      readonly allowedTopologies?: readonly {
        readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[]
      }[]
    }
    if (provisioner === noProvisioner) return false
    return (
      allowedTopologies.length === 0 ||
      allowedTopologies.some(({ matchLabelExpressions = [] }) =>
        matchLabelExpressions.every(({ key, values }) => values.includes(node.metadata.labels[key] ?? '')),
      )
    )
  }

  /** Whether a driver could not attach one volume more. */
  #exceeds(pod: Pod, { node, pods }: Place): boolean {
    if (pod.persistentVolumeClaims.length === 0) return false
    const csiNode = this.#server.objects.find(pathOf('csinodes', node.metadata.name))
    const { drivers = [] } = specOf(csiNode ?? {}) as {
      readonly drivers?: readonly { readonly name: string; readonly allocatable?: { readonly count?: number } }[]
    }
    return drivers.some(({ name, allocatable }) => {
      const used = new Set([...pods, pod].flatMap((one) => this.#attached(one, name)))
      return used.size > (allocatable?.count ?? Number.POSITIVE_INFINITY)
    })
  }

  /** Paths of a pod's claims whose volumes a driver attaches. */
  #attached(pod: Pod, driver: string): readonly string[] {
    const driverOf = (claim: Json) => {
      const volume = this.#volume(claim)
      return volume === undefined
        ? classOf(this.#server.objects, claim)?.['provisioner']
        : (specOf(volume) as VolumeSpec).csi?.driver
    }
    return this.#claims(pod)
      .filter((claim) => driverOf(claim) === driver)
      .map(claimPathOf)
  }
}

function isReached(volume: Json, node: Node): boolean {
  const terms = (specOf(volume) as VolumeSpec).nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => meetsTerm(term, node))
}
