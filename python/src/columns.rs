//! Columns in the memory layout of Apache Arrow, made of rows.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, ListBuilder, MapBuilder, PrimitiveBuilder, StringBuilder,
    StringDictionaryBuilder,
};
use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt64Array};

/// Columns of rows that are gone through once for each.
pub struct Columns<I> {
    rows: I,
    /// Name, values, whether some may be missing.
    columns: Vec<(&'static str, ArrayRef, bool)>,
}

impl<R, I: Iterator<Item = R> + Clone> Columns<I> {
    /// None yet, of these rows.
    pub fn of(rows: I) -> Columns<I> {
        Columns { rows, columns: Vec::new() }
    }

    /// Texts that recur, most of them in runs: one is looked up only where another came before it.
    pub fn text<S: AsRef<str>>(self, name: &'static str, text: impl Fn(R) -> S) -> Self {
        let mut texts = StringDictionaryBuilder::<Int32Type>::new();
        let mut run: Option<(S, usize)> = None;
        for text in self.rows.clone().map(text) {
            match &mut run {
                Some((last, length)) if (*last).as_ref() == text.as_ref() => *length += 1,
                _ => {
                    if let Some((last, length)) = run.replace((text, 1)) {
                        texts.append_values(last, length);
                    }
                }
            }
        }
        if let Some((last, length)) = run {
            texts.append_values(last, length);
        }
        self.with(name, Arc::new(texts.finish()), false)
    }

    pub fn text_if_any<S: AsRef<str>>(
        self,
        name: &'static str,
        text: impl Fn(R) -> Option<S>,
    ) -> Self {
        let mut texts = StringDictionaryBuilder::<Int32Type>::new();
        self.rows.clone().for_each(|row| texts.append_option(text(row)));
        self.with(name, Arc::new(texts.finish()), true)
    }

    pub fn whole(self, name: &'static str, number: impl Fn(R) -> u64) -> Self {
        let numbers = UInt64Array::from_iter_values(self.rows.clone().map(number));
        self.with(name, Arc::new(numbers), false)
    }

    pub fn whole_if_any(self, name: &'static str, number: impl Fn(R) -> Option<u64>) -> Self {
        let numbers: UInt64Array = self.rows.clone().map(number).collect();
        self.with(name, Arc::new(numbers), true)
    }

    pub fn number(self, name: &'static str, number: impl Fn(R) -> f64) -> Self {
        let numbers = Float64Array::from_iter_values(self.rows.clone().map(number));
        self.with(name, Arc::new(numbers), false)
    }

    pub fn number_if_any(self, name: &'static str, number: impl Fn(R) -> Option<f64>) -> Self {
        let numbers: Float64Array = self.rows.clone().map(number).collect();
        self.with(name, Arc::new(numbers), true)
    }

    pub fn truth(self, name: &'static str, truth: impl Fn(R) -> bool) -> Self {
        let truths: BooleanArray = self.rows.clone().map(|row| Some(truth(row))).collect();
        self.with(name, Arc::new(truths), false)
    }

    pub fn truth_if_any(self, name: &'static str, truth: impl Fn(R) -> Option<bool>) -> Self {
        let truths: BooleanArray = self.rows.clone().map(truth).collect();
        self.with(name, Arc::new(truths), true)
    }

    /// Lists of numbers, some of which may be missing.
    pub fn numbers<L: IntoIterator<Item = Option<f64>>>(
        self,
        name: &'static str,
        numbers: impl Fn(R) -> L,
    ) -> Self {
        let mut lists = ListBuilder::new(Float64Builder::new());
        for row in self.rows.clone() {
            numbers(row).into_iter().for_each(|number| lists.values().append_option(number));
            lists.append(true);
        }
        self.with(name, Arc::new(lists.finish()), false)
    }

    /// Maps from texts to numbers.
    pub fn map<T: ArrowPrimitiveType, K: AsRef<str>, M: IntoIterator<Item = (K, T::Native)>>(
        self,
        name: &'static str,
        entries: impl Fn(R) -> M,
    ) -> Self {
        let values = PrimitiveBuilder::<T>::new();
        let mut maps = MapBuilder::new(None, StringBuilder::new(), values);
        for row in self.rows.clone() {
            for (key, value) in entries(row) {
                maps.keys().append_value(key);
                maps.values().append_value(value);
            }
            maps.append(true).expect("a value for each key");
        }
        self.with(name, Arc::new(maps.finish()), false)
    }

    pub fn with(mut self, name: &'static str, column: ArrayRef, may_miss: bool) -> Self {
        self.columns.push((name, column, may_miss));
        self
    }

    pub fn table(self) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(self.columns).expect("columns of the same rows")
    }
}
