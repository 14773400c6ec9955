import type { ClusterObjects } from '../cluster.ts'
import { ClusterIndex, type IndexedKind, type IndexedObjects } from '../cluster-index.ts'

/** An index of all objects of a cluster at once. */
export function indexOf(cluster: Omit<ClusterObjects, 'instanceTypes'>): ClusterIndex {
  const index = new ClusterIndex()
  const enter = <Kind extends IndexedKind>(kind: Kind, objects: readonly IndexedObjects[Kind][] = []) => {
    for (const object of objects) {
      const { namespace, name } = object.metadata
      const key = namespace === undefined ? name : `${namespace}/${name}`
      index.apply(kind, kind === 'PodController' ? `${object.kind}/${key}` : key, object)
    }
  }
  enter('Node', cluster.nodes)
  enter('NodeClaim', cluster.nodeClaims)
  enter('NodePool', cluster.nodePools)
  enter('DaemonSet', cluster.daemonSets)
  enter('PodDisruptionBudget', cluster.podDisruptionBudgets)
  enter('Namespace', cluster.namespaces)
  enter('Service', cluster.services)
  enter('PodController', cluster.controllers)
  enter('PersistentVolumeClaim', cluster.persistentVolumeClaims)
  enter('PersistentVolume', cluster.persistentVolumes)
  enter('StorageClass', cluster.storageClasses)
  enter('CSINode', cluster.csiNodes)
  enter('Pod', cluster.pods)
  return index
}
