// An atom that no hardware has, inside a line too long to be shown whole.
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x264x16, ab_major = (k, k), elem_type = (f16, bf16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
func.func @kernel(%mma: !mma) {
  // tileproof: ignore[WG113] K is 16 here, so that this silences nothing
	%x = "test.tab_and_umlaut"(%mma) {note = "Größe: 100 %"} : (!mma) -> !cute.layout<"(8,(4,2):(1,8)">
  return
}
