// SPDX-License-Identifier: Apache-2.0
//
// inlines.rs [ROUNDS] - Rust whose time is in functions that the compiler has inlined. The names that
// a profile must show, from the outside in:
//
//     inlines::main > inlines::geometry::total_area::<T> > <T as Shape>::area (inlined)
//         > inlines::geometry::polish (inlined)
//     inlines::main > inlines::text::checksum > {{closure}} (inlined), inlines::text::mix (inlined)

/// The value that it was given, of which the compiler knows nothing: no loop around it becomes
/// something else, in which hardly an instruction would be left of the functions above.
#[inline(always)]
fn opaque(mut x: u64) -> u64 {
    unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack)) };
    x
}

mod geometry {
    pub struct Round(pub u64);
    pub struct Square(pub u64);

    pub trait Shape {
        fn new(size: u64) -> Self;
        fn area(&self) -> u64;
    }

    #[inline(always)]
    fn polish(mut x: u64, rounds: u32) -> u64 {
        for _ in 0..rounds {
            x = super::opaque(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        }
        x
    }

    impl Shape for Round {
        fn new(size: u64) -> Self {
            Round(size)
        }
        #[inline(always)]
        fn area(&self) -> u64 {
            polish(self.0.wrapping_mul(3141592653), 400)
        }
    }

    impl Shape for Square {
        fn new(size: u64) -> Self {
            Square(size)
        }
        #[inline(always)]
        fn area(&self) -> u64 {
            polish(self.0.wrapping_mul(4000000007), 400)
        }
    }

    #[inline(never)]
    pub fn total_area<T: Shape>(count: u64) -> u64 {
        let mut total = 0u64;
        for size in 0..count {
            total = total.wrapping_add(T::new(size).area());
        }
        total
    }
}

mod text {
    #[inline(always)]
    fn mix(sum: u32, byte: u8) -> u32 {
        let mut x = sum ^ byte as u32;
        for _ in 0..24 {
            x = super::opaque(x.rotate_left(13).wrapping_mul(2654435761) as u64) as u32;
        }
        x.wrapping_mul(5).wrapping_add(0xe6546b64)
    }

    #[inline(never)]
    pub fn checksum(text: &[u8], count: u64) -> u32 {
        (0..count).fold(1, |sum, _| text.iter().fold(sum, |sum, &byte| mix(sum, byte)))
    }
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(300, |text| text.parse().expect("a number"));
    let sentence = vec![b'k'; 4000];
    let (mut area, mut sum) = (0u64, 0u32);
    for _ in 0..rounds {
        area = area.wrapping_add(geometry::total_area::<geometry::Round>(2000));
        area ^= geometry::total_area::<geometry::Square>(2000);
        sum = sum.wrapping_mul(31).wrapping_add(text::checksum(&sentence, 8));
    }
    println!("area {area:016x} checksum {sum:08x}");
}
