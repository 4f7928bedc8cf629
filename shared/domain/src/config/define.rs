//! One declaration for the struct, its defaults and its reader, so that the three cannot drift apart.

/// The default of a member by the way it is read.
macro_rules! default_of {
    (optional, $default:expr, $rule:expr) => {
        $default
    };
    (nullable_or, $default:expr, $rule:expr) => {
        $default
    };
    (nullable, $rule:expr) => {
        None
    };
}

/// A struct of the schema. `field: Type = way(arguments)` names a method of [`crate::validation::Fields`].
macro_rules! record {
    (@forbid $fields:ident [others] $($field:ident)+) => {
        $fields.forbid_others(&[$(stringify!($field)),+]);
    };
    (@forbid $fields:ident [] $($field:ident)+) => {};
    (
        $(#[$doc:meta])*
        $name:ident $model:literal {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $way:ident($($argument:expr),*),)+
        }
        $(forbids $forbids:ident;)?
        $(check $check:expr;)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl $name {
            pub(in crate::config) fn read<'v>(
                value: &'v serde_json::Value,
                at: $crate::validation::Path<'_>,
                faults: &mut $crate::validation::Faults<'v>,
            ) -> Option<Self> {
                $crate::validation::object(Some($model), value, at, faults, Self::fields, Self::check)
            }

            fn fields(fields: &mut $crate::validation::Fields<'_, '_>) -> Option<Self> {
                $(let $field = fields.$way(stringify!($field), $($argument),*);)+
                record!(@forbid fields [$($forbids)?] $($field)+);
                Some(Self { $($field: $field?),+ })
            }

            fn check(&self) -> Result<(), String> {
                $(let check: fn(&Self) -> Result<(), String> = $check; check(self)?;)?
                Ok(())
            }
        }
    };
}

/// A [`record!`] in which every member has a default.
macro_rules! model {
    (
        $(#[$doc:meta])*
        $name:ident $model:literal {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $way:ident($($argument:expr),*),)+
        }
        $(check $check:expr;)?
    ) => {
        record! {
            $(#[$doc])*
            $name $model {
                $($(#[$field_doc])* $field: $type = $way($($argument),*),)+
            }
            $(check $check;)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: default_of!($way, $($argument),*)),+ }
            }
        }
    };
}
