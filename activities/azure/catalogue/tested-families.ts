// Families of VM sizes that are known to work as AKS nodes. To add one, write its name as `testedFamilyName` gives it.

const names: ReadonlySet<string> = new Set(
  `
  av2 basv2 bpsv2 bs bsv2 d dadsv5 dadsv7 dadv6 daldsv7 daldv6 dalsv7 dalv6 dasv4 dasv5 dasv7 dav4 dav6 dcaccv5 dcadccv5 dcadsv5 dcadsv6
  dcasv5 dcasv6 dcedv5 dcedv6 dcev5 dcev6 dcsv2 dcsv3 ddcsv3 ddsv4 ddsv5 ddsv6 ddsv7 ddv4 ddv5 dldsv5 dldsv6 dldsv7 dlsv5 dlsv6 dlsv7 dndv6
  dnldv6 dnlv6 dnv6 dpdsv5 dpdsv6 dpldsv5 dpldsv6 dplsv5 dplsv6 dpsv5 dpsv6 ds dsv2 dsv2promo dsv3 dsv4 dsv5 dsv6 dsv7 dv2 dv2promo dv3 dv4
  dv5 eadsv5 eadsv7 eadv6 easv4 easv5 easv7 eav4 eav6 ebdsv5 ebsv5 ecaccv5 ecadccv5 ecadsv5 ecadsv6 ecasv5 ecasv6 ecedv5 ecedv6 ecev5 ecev6
  eciadsv5 eciasv5 eciedv5 eciev5 edsv4 edsv5 edsv6 edsv7 edv4 edv5 eiadsv5 eiasv4 eiasv5 eibdsv5 eibsv5 eidsv5 eidv5 eisv5 eiv5 endv6 env6
  epdsv5 epdsv6 epsv5 epsv6 esv3 esv4 esv5 esv6 esv7 ev3 ev4 ev5 f fadsv7 faldsv7 falsv6 falsv7 famdsv7 famsv6 famsv7 fasv6 fasv7 fs fsv2
  fxmdsv2 fxmdvs fxmsv2 g gs hbrsv2 hbv3 hbv4 hbv5 hcs hx laosv4 lasv3 lasv4 ls lsv2 lsv3 lsv4 mbdsmediummemoryv3 mbsmediummemoryv3
  mdshighmemoryv3 mdsmediummemoryv2 mdsmediummemoryv3 midshighmemoryv3 midsmediummemoryv2 mishighmemoryv3 mismediummemoryv2 ms mshighmemoryv3
  msmediummemoryv2 msmediummemoryv3 msv2 ncadsa100v4 ncadsa10v4 ncadsh100v5 ncasv3_t4 nccads2023 ncdsrtxpro6000bsev6xl ncsv3 ndamsv4_a100
  ndasv4_a100 ndisrgb200v6ndr ndisrgb300v6 ndisrh200v5 ndisv5mi300x ndsh100v5 ndsv2 ngadsv620v1 nps nvadsa10v5 nvadsv710v5 nvsv2 nvsv3 nvsv4
  pbs xeidsv4 xeisv4
`
    .trim()
    .split(/\s+/),
)

/** Returns the name of a quota family as the list has it: `standardDSv5Family` is `dsv5`. */
export function testedFamilyName(family: string): string {
  return family
    .toLowerCase()
    .replaceAll(' ', '')
    .replace(/^standard/, '')
    .replace(/family$/, '')
}

/** Whether sizes of a quota family are known to work as AKS nodes. A size whose family is not known counts as tested. */
export function isTestedFamily(family: string): boolean {
  return family === '' || names.has(testedFamilyName(family))
}
